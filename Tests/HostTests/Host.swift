import Foundation
import TestSupport
import Testing

/// What starts our programs when a request arrives.
enum Host: String, CaseIterable {
    /// nginx and fcgiwrap, as `infra/nginx` sets them up.
    case nginx
    /// lighttpd with mod_cgi.
    case lighttpd
    /// openbsd-inetd: a port for each program.
    case inetd
    /// socat, which hands connections over as an inetd does.
    case socat

    /// The programs that have to be installed for it.
    var programs: [String] {
        switch self {
        case .nginx: ["/usr/sbin/nginx", "/usr/sbin/fcgiwrap"]
        case .lighttpd: ["/usr/sbin/lighttpd"]
        case .inetd: ["/usr/sbin/inetd"]
        case .socat: ["/usr/bin/socat"]
        }
    }

    var isInstalled: Bool { programs.allSatisfy(FileManager.default.isExecutableFile) }

    /// Whether it reads requests itself, and hands programs only what it takes for one.
    var isServer: Bool { self == .nginx || self == .lighttpd }

    /// Those that can be tested on this machine.
    static let installed = allCases.filter(\.isInstalled)
}

extension Trait where Self == ConditionTrait {
    /// Skips a test, by its name, where its host is not installed.
    static func installed(_ host: Host) -> Self {
        .enabled(
            if: host.isInstalled, "\(host.programs.joined(separator: " or ")) is not installed")
    }
}

/// A route of `infra/routes`.
struct Route: Hashable {
    let method: String
    let pattern: String
    let program: String

    /// The repository's folder.
    static let repository = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        .appendingPathComponent("../..").standardizedFileURL.path

    static func all() throws -> [Route] {
        try String(contentsOfFile: "\(repository)/infra/routes", encoding: .utf8)
            .split(separator: "\n").filter { !$0.hasPrefix("#") }
            .map { line in
                let words = line.split(separator: " ").map { String($0) }
                guard words.count == 3 else { throw TestFailure("infra/routes: \(line)") }
                return Route(method: words[0], pattern: words[1], program: words[2])
            }
    }

    /// Whether a path, as it is sent, is one of this route's, whatever the method.
    func serves(_ target: String) -> Bool {
        func segments(_ path: some StringProtocol) -> [Substring] {
            Substring(path).split(separator: "/", omittingEmptySubsequences: false)
        }
        let parts = segments(pattern)
        let sent = segments(target.prefix { $0 != "?" })
        return parts.count == sent.count
            && zip(parts, sent).allSatisfy { $0.hasPrefix("{") ? !$1.isEmpty : $0 == $1 }
    }

    /// The programs that answer requests.
    static func programs() throws -> [String] { try Set(all().map(\.program)).sorted() }
}
