import Foundation
import JSON
import Turnstone

/// A route of `infra/routes`.
package struct Route: Hashable {
    package let method: String
    package let pattern: String
    package let program: String

    package init(method: String, pattern: String, program: String) {
        self.method = method
        self.pattern = pattern
        self.program = program
    }

    /// The repository's folder.
    package static let repository = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        .appendingPathComponent("../..").standardizedFileURL.path

    package static func all() throws -> [Route] {
        try String(contentsOfFile: "\(repository)/infra/routes", encoding: .utf8)
            .split(separator: "\n").filter { !$0.hasPrefix("#") }
            .map { line in
                let words = line.split(separator: " ").map { String($0) }
                guard words.count == 3 else { throw TestFailure("infra/routes: \(line)") }
                return Route(method: words[0], pattern: words[1], program: words[2])
            }
    }

    /// Whether a path, as it is sent, is one of this route's, whatever the method.
    package func serves(_ target: String) -> Bool {
        func segments(_ path: some StringProtocol) -> [Substring] {
            Substring(path).split(separator: "/", omittingEmptySubsequences: false)
        }
        let parts = segments(pattern)
        var sent = segments(target.prefix { $0 != "?" })
        if isForeign, sent.prefix(3) == ["", "api", "v1"] { sent.removeSubrange(1...2) }
        return parts.count == sent.count
            && zip(parts, sent).allSatisfy { $0.hasPrefix("{") ? !$1.isEmpty : $0 == $1 }
    }

    /// Whether it is granted only after a look at Online-Go.com, so that no fixture shows it. `SignupTests`
    /// do.
    package var asksOnlineGo: Bool { pattern == "/signup/confirm" }

    /// Whether it is one of OneSignal's that answer 400 whatever is asked: its interface has no other answer.
    package var isUnsupported: Bool {
        guard isForeign,
            let text = FileManager.default.contents(
                atPath: "\(Self.repository)/functions/\(program)/openapi.json"),
            let operations = try? JSON.parse(Array(text)).object,
            let answers = operations["\(method) \(pattern)"]?.object?["answers"]?.object
        else { return false }
        return answers.members.allSatisfy { $0.name.hasPrefix("4") }
    }

    /// Whether it is one of OneSignal's, which are also below `/api/v1`.
    private var isForeign: Bool { program.hasPrefix("onesignal-") }

    /// The programs that answer requests.
    package static func programs() throws -> [String] { try Set(all().map(\.program)).sorted() }

    /// They, `front`, and those that a timer starts: the folders of `functions`.
    package static func folders() throws -> [String] {
        try FileManager.default.contentsOfDirectory(
            at: URL(fileURLWithPath: "\(repository)/functions"), includingPropertiesForKeys: nil
        )
        .filter(\.hasDirectoryPath).map(\.lastPathComponent)
        .filter { name in
            FileManager.default.fileExists(atPath: "\(repository)/functions/\(name)/main.swift")
        }
    }
}
