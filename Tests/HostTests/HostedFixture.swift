import Foundation
import JSON
import TestSupport
import Testing
import Turnstone

/// A fixture of `functions/NAME/fixtures` that asks in the short form, as an HTTP request.
struct HostedFixture: CustomStringConvertible, Sendable {
    let description: String
    let program: String
    let request: HostRequest
    let status: Int
    let body: JSONValue?
    private let members: JSONObject

    /// `nil` for a fixture that is about how a request arrives, or that a configuration file cannot
    /// bring about.
    init?(_ file: URL, program: String) throws {
        guard let members = try JSON.parse(Array(Data(contentsOf: file))).object,
            let answer = members["answer"]?.object, let status = answer["status"]?.integer,
            let event = members["event"]?.object, let request = HostRequest(event),
            members["environment"]?.object?["TURNSTONE_CONFIG"] == nil
        else { return nil }
        self.members = members
        self.program = program
        self.request = request
        self.status = Int(status)
        body = answer["body"]
        description = "\(program)/\(file.lastPathComponent)"
    }

    static func all() throws -> [HostedFixture] { try read.get() }

    private static let read = Result {
        try Route.programs().flatMap { program in
            let folder = URL(fileURLWithPath: "\(Route.repository)/functions/\(program)/fixtures")
            return try FileManager.default.contentsOfDirectory(
                at: folder, includingPropertiesForKeys: nil
            )
            .filter { $0.pathExtension == "json" }.sorted { $0.path < $1.path }
            .compactMap { try HostedFixture($0, program: program) }
        }
    }

    /// For each route the first fixture that it grants.
    static func granted() throws -> [HostedFixture] { try found.get() }

    private static let found = Result {
        let fixtures = try all()
        return try Route.all().compactMap { route in fixtures.first(where: route.grants) }
    }

    /// Whether the fixture says that files are written.
    var changesFiles: Bool { members["then"]?.object?.members.isEmpty == false }

    /// Sets up the fixture's state.
    func install(at site: some FixtureSite) throws {
        var lines: [String] = []
        for member in members["environment"]?.object?.members ?? [] {
            lines.append("\(member.name)='\(member.value.string ?? "")'")
        }
        if members["environment"]?.object?["TURNSTONE_NOW"] == nil {
            lines.append("TURNSTONE_NOW=1795262400000")
        }
        lines.append(members["config"]?.string ?? "")
        try site.install()
        try site.configure(filled(lines.joined(separator: "\n"), site))
        var given = members["given"]?.object ?? [:]
        if given["version.json"] == nil { given["version.json"] = ["version": 3] }
        for file in given.members where file.value != .null {
            let text = FixtureFile(file.name).text(file.value)
            try site.state.write(filled(text, site), to: file.name)
        }
    }

    /// The answer's body, with the site's own paths in it.
    func body(at site: some FixtureSite) -> JSONValue? {
        body.flatMap {
            // The fixture's variables are in the site's file.
            let text = String(decoding: JSON.text($0), as: UTF8.self)
                .replacing("(environment)", with: "({CONFIG})")
            return try? JSON.parse(Array(filled(text, site).utf8))
        }
    }

    /// The differences between the state folder afterwards and the fixture, one sentence each.
    func faults(of after: [String: [UInt8]], before: [String: [UInt8]]) -> [String] {
        let then = members["then"]?.object ?? [:]
        var faults: [String] = []
        // The audience index depends on the machine.
        var unexplained = after.filter {
            !$0.key.hasSuffix(".lock") && !$0.key.hasPrefix("audience/")
        }
        for member in then.members {
            let names = unexplained.keys.filter { Pattern.matches($0, member.name) }
            if names.count != (member.value == .null ? 0 : 1) {
                faults.append("\(member.name) is amiss")
            }
            for name in names {
                let bytes = unexplained.removeValue(forKey: name) ?? []
                if !Pattern.matches(FixtureFile(name).value(bytes), member.value) {
                    faults.append("\(name) holds \(String(decoding: bytes, as: UTF8.self))")
                }
            }
        }
        for (name, bytes) in unexplained where before[name] != bytes {
            faults.append("\(name) is new or changed")
        }
        for name in before.keys where after[name] == nil && then[name] != .null {
            faults.append("\(name) is gone")
        }
        return faults
    }

    private func filled(_ text: String, _ site: some FixtureSite) -> String {
        text.replacing("{STATE}", with: site.state.path)
            .replacing("{CONFIG}", with: site.configurationPath)
    }
}

extension HostedFixture {
    /// Records the differences from the fixture: status, headers, body and files.
    func check(
        _ answer: HostAnswer, at site: Site, before: [String: [UInt8]], _ name: Comment
    ) {
        let status =
            request.target.contains("%00")
            ? HostDifferences.status(of: "an encoded NUL", at: site.host, elsewhere: status)
            : status
        #expect(answer.status == status, "\(name): \(answer.text)")
        if status != 204 {
            #expect(answer.headers["content-type"] == "application/json", name)
        }
        for field in members["answer"]?.object?["headers"]?.object?.members ?? []
        where field.name.hasPrefix("access-control-") {
            #expect(answer.headers[field.name] == field.value.string, name)
        }
        #expect(answer.headers["cache-control"] == "no-store", name)
        #expect(answer.headers["x-content-type-options"] == "nosniff", name)
        if request.method == "HEAD" || status == 204 {
            #expect(answer.body.isEmpty, name)
        } else if status < 400, let body {
            #expect(
                answer.json.map { Pattern.matches($0, body) } == true, "\(name): \(answer.text)")
        } else {
            // The sentence of a refusal may be the host's own.
            #expect(answer.json?.object?.members.isEmpty == false, "\(name): \(answer.text)")
        }
        let faults = faults(of: site.state.files(), before: before)
        #expect(faults.isEmpty, name)
    }
}

extension Route {
    func grants(_ fixture: HostedFixture) -> Bool {
        fixture.program == program
            && ((200..<300).contains(fixture.status) || fixture.status == 400 && isUnsupported)
            && fixture.request.method == method && serves(fixture.request.target)
    }
}

extension HostRequest {
    /// The request that an event in the short form stands for.
    init?(_ event: JSONObject) {
        guard let method = event["method"]?.string, let path = event["path"]?.string,
            !method.isEmpty, path.hasPrefix("/"), path.utf8.allSatisfy({ (33..<127).contains($0) })
        else { return nil }
        let query = (event["query"]?.object?.members ?? []).map { member in
            "\(member.name)=\(member.value.string ?? "")"
        }
        self.init(
            method: method,
            target: query.isEmpty ? path : "\(path)?\(query.joined(separator: "&"))")
        for member in event["headers"]?.object?.members ?? [] {
            guard let value = member.value.string else { return nil }
            headers.append((member.name, value))
        }
        switch event["body"] {
        case nil, .null: break
        case .string(let text): body = Array(text.utf8)
        case let value?: body = JSON.text(value)
        }
    }
}
