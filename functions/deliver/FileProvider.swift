import Drain
import Edge
import JSON
import Spool
import Store
import Turnstone
import Unix

/// Writes each push to `outgoing/` in the state folder and prints it, so that everything can be tried without
/// an Apple account.
final class FileProvider: Provider {
    private let folder: String

    let name = "file"

    let title = (service: "", variables: "APNS_")

    let settings = ""

    /// Files can always be tried.
    var trouble: ProviderTrouble? { nil }

    init(state: State) {
        folder = "\(state.folder)/outgoing"
    }

    func environment(of push: Push) -> APNsEnvironment? { nil }

    func giveBackUnsent() {}

    func close() {}

    func step(
        pause: Interval, at now: Timestamp, next: () -> Push?,
        beforeSending: () throws(Failure) -> Void, verdict: (Push, Verdict) -> Void
    ) throws(Failure) {
        var isIdle = true
        while let push = next() {
            isIdle = false
            do throws(Failure) {
                try beforeSending()
                try write(push)
            } catch {
                verdict(push, .notSent(nil))
                throw error
            }
            verdict(push, .written)
        }
        if isIdle { sleep(for: pause) }
    }

    private func write(_ push: Push) throws(Failure) {
        let text = JSON.text(document(push)) + [UInt8(ascii: "\n")]
        try systemCalls { () throws(SystemError) in
            try Files.makeFolder(folder)
            try Files.replace("\(folder)/\(push.id).json", with: text)
        }
        writeAnswer(text)
    }

    /// The push that would be sent: the header fields by name, and the payload.
    private func document(_ push: Push) -> JSONValue {
        let content = push.content
        var document = JSONObject()
        switch push.delivery.aim {
        case .device(let token):
            document["device"] = .string(token.text)
            document["apns-id"] = .string(push.id)
        case .channel(let channel):
            document["apns-channel-id"] = .string(channel.text)
            document["apns-request-id"] = .string(push.id)
        }
        document["apns-push-type"] = .string(content.type.rawValue)
        document["apns-priority"] = .integer(Int64(content.priority))
        let expiration = content.isKept ? push.expires.seconds : 0
        document["apns-expiration"] = .integer(expiration)
        document["apns-collapse-id"] = content.collapseID.map { .string($0) }
        document["payload"] = content.apnsPayload(of: push.payload).json
        return .object(document)
    }
}
