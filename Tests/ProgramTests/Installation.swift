import JSON
import TestSupport
import Turnstone

/// A state folder and a configuration file of one test's own.
struct Installation: Sendable {
    let state = TemporaryFolder()
    private let elsewhere = TemporaryFolder()
    private(set) var environment: [String: String] = [:]

    /// The moment 2026-11-21T12:00:00Z.
    static let now = "1795262400000"

    init(config: String = "", environment more: [String: String] = [:]) throws {
        environment = [
            "TURNSTONE_STATE": state.path, "TURNSTONE_CONFIG": configPath,
            "TURNSTONE_NOW": Self.now,
        ]
        try configure(config, more)
    }

    /// Sets up a fixture's state.
    mutating func prepare(_ fixture: Fixture) throws {
        try configure(fixture.config, fixture.variables)
        environment.merge(fixture.request.environment) { $1 }
        var files = fixture.given
        if files["version.json"] == nil { files["version.json"] = ["version": 3] }
        for file in files.members where file.value != .null {
            try state.write(FixtureFile(file.name).text(file.value), to: file.name)
        }
    }

    private mutating func configure(_ config: String, _ more: [String: String]) throws {
        try elsewhere.write(config, to: "turnstone.env")
        environment.merge(more) { $1 }
    }

    private var configPath: String { "\(elsewhere.path)/turnstone.env" }

    /// A fixture's text with the paths that it cannot know.
    func filled(_ text: String) -> String {
        text.replacing("{STATE}", with: state.path).replacing("{CONFIG}", with: configPath)
    }
}

extension JSON {
    /// The value's text.
    static func line(_ value: JSONValue) -> String { String(decoding: text(value), as: UTF8.self) }
}

/// In small letters.
private let secretMembers = [
    "x-api-key", "authorization", "cookie", "master_key", "device_token", "devicetoken", "token",
    "previoustoken", "endpoint", "p256dh", "auth",
]

private let secretVariables = [
    "MASTER_API_KEY", "HTTP_X_API_KEY", "Http_X_Api_Key", "HTTP_AUTHORIZATION",
]

extension Fixture {
    /// The secrets in the request and the configuration, which no log may show.
    var secrets: [String] {
        var secrets: [String] = []
        func collect(_ value: JSONValue) {
            for member in value.object?.members ?? [] {
                let isSecret = secretMembers.contains(
                    member.name.lowercased())
                if isSecret, let text = member.value.string { secrets.append(text) }
                collect(member.value)
            }
        }
        if case .event(let event) = request { collect(event) }
        for variables in [variables, request.environment] {
            for name in secretVariables {
                if let text = variables[name] { secrets.append(text) }
            }
        }
        return secrets.filter { $0.utf8.count >= 8 }
    }
}
