import Foundation
import TestSupport
import Testing
import Turnstone

/// The reasons that the documentation names are those that the programs give. (`infra/checks/page` checks the
/// pages.)
@Suite struct ReasonTests {
    private func text(_ path: String) throws -> String {
        try String(contentsOfFile: "\(Route.repository)/\(path)", encoding: .utf8)
    }

    private func part(_ text: String, from start: String, to end: String) throws -> Substring {
        let first = try #require(text.range(of: start)).upperBound
        let last = try #require(text[first...].range(of: end)).lowerBound
        return text[first..<last]
    }

    /// The words in backticks in the first column of the table `| reason | meaning |`.
    private func table(in readme: String) throws -> [String] {
        let rows = try part(text(readme), from: "\n| reason | meaning |\n|---|---|\n", to: "\n\n")
        return rows.split(separator: "\n").flatMap { row in
            row.split(separator: "|")[0].matches(of: /`([^`]+)`/).map { String($0.1) }
        }
    }

    private let supersessions = ReceiptReason.supersessions.map(\.rawValue)

    @Test("deliver's README has each reason of a superseded push")
    func superseded() throws {
        #expect(try table(in: "functions/deliver/README.md").sorted() == supersessions.sorted())
    }

    @Test("notify's README has each that a message can have")
    func ofMessages() throws {
        let readme = try text("functions/notify/README.md")
        let sentences = try part(readme, from: "ends as `superseded`. Its `reason` is ", to: "\n\n")
        let named = sentences.matches(of: /`(\w+)`\s\(/).map { String($0.1) }
        let others: [ReceiptReason] = [.answered, .released, .held]
        #expect(
            named.sorted()
                == supersessions.filter { reason in
                    !others.contains { $0.rawValue == reason }
                }.sorted())
    }

    @Test("status's README has each reason why a user gets no push")
    func noPush() throws {
        #expect(
            try table(in: "functions/status/README.md").sorted()
                == NoPushReason.allCases.map(\.rawValue).sorted())
    }

    @Test("the examples in the OpenAPI description of status are among them")
    func examples() throws {
        let examples = try text("functions/status/openapi.json")
            .matches(of: /"reason": "([^"]+)",\s+"message"/).map { String($0.1) }
        #expect(!examples.isEmpty)
        for example in examples { #expect(NoPushReason(rawValue: example) != nil, "\(example)") }
    }
}
