import Foundation
import TurnstoneKit

/// Answers one request after the other, and then none.
actor Script: Transport {
    static let base = URL(string: "https://push.example.org/go")!
    static let keys = HTTPAnswer(
        status: 200,
        body: Data(
            #"{"api_keys": [{"id": "k", "description": null, "created_at": "x", "last_used": null}]}"#
                .utf8))

    private(set) var requests: [HTTPRequest] = []
    private(set) var pauses: [Duration] = []
    private var answers: [HTTPAnswer]

    init(_ answers: [HTTPAnswer]) { self.answers = answers }

    func answer(to request: HTTPRequest) throws -> HTTPAnswer {
        requests.append(request)
        guard !answers.isEmpty else { throw URLError(.networkConnectionLost) }
        return answers.removeFirst()
    }

    private func pause(_ duration: Duration) { pauses.append(duration) }

    nonisolated private func patience(_ isPatient: Bool) -> Patience {
        isPatient ? Patience(sleep: { await self.pause($0) }) : .none
    }

    nonisolated func player(isPatient: Bool = true) -> PlayerClient {
        PlayerClient(
            at: Self.base, player: "1783478", key: "0a", transport: self,
            patience: patience(isPatient))
    }

    nonisolated func app() -> AppClient {
        AppClient(at: Self.base, transport: self, patience: patience(true)) { "a.b.c" }
    }

    nonisolated func backend() -> ServerClient {
        ServerClient(at: Self.base, key: "k", transport: self, patience: patience(true))
    }
}
