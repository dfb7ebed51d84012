import Foundation
import JSON
import TestSupport
import Testing
import Turnstone

/// Numbers at the limits of 64 bits and beyond, wherever a program's fixtures have a number: in documents,
/// requests and variables. Every program must give an answer.
///
/// Each member of a program's documents is tried in the first fixture that has it. Not tested here:
/// players.index, which is not JSON.
@Suite struct NumberLimitTests {
    static let values: [JSONValue] = [
        .integer(.min), .integer(.max), .integer(.max - 1), .integer(-1),
        .number(JSONNumber("1e300", value: 1e300)),
    ]

    /// The members of a fixture that state its results.
    private static let results = ["answer", "output", "lines", "exit", "stderr", "then"]

    @Test("no number makes a program trap or hang", arguments: FixtureName.programs)
    func limits(program: String) throws {
        var tried: Set<String> = []
        for name in FixtureName.all where name.program == program {
            let text = try Array(String(contentsOf: name.file, encoding: .utf8).utf8)
            guard let members = try JSON.parse(text).object else { continue }
            for place in Place.all(in: .object(members)) {
                guard case .member(let first)? = place.steps.first,
                    !Self.results.contains(first), place.steps.last != .member("version"),
                    tried.insert(place.description).inserted
                else { continue }
                for value in Self.values {
                    try run(name, with: place.steps[...], as: value, in: .object(members))
                }
            }
        }
    }

    private func run(
        _ name: FixtureName, with place: ArraySlice<Place.Step>, as value: JSONValue,
        in whole: JSONValue
    ) throws {
        let folder = TemporaryFolder()
        let changed = Place.replacing(place, in: whole, by: value)
        try folder.write(JSON.text(changed), to: "fixture.json")
        var installation = try Installation()
        let file = URL(fileURLWithPath: "\(folder.path)/fixture.json")
        let fixture = try Fixture(
            FixtureName(program: name.program, file: file), in: installation)
        try installation.prepare(fixture)
        let ended = try Programs.run(
            name.program, stdin: fixture.request.input, environment: installation.environment,
            timeLimit: 30)
        #expect(
            [0, 100, 111].contains(ended.exitCode),
            "\(name): \(place.map(\.text).joined(separator: "/")) \(JSON.line(value))")
    }

    @Test(
        "a badge changes by a number that is one",
        arguments: ["-9223372036854775808", "+9223372036854775807", "-1000000"])
    func badge(text: String) throws {
        let key = "the-key-of-a-backend-with-32-bytes"
        let installation = try Installation(environment: [
            "TURNSTONE_SERVER_KEY": key, "TURNSTONE_DELIVER": "external",
        ])
        let event: JSONValue = [
            "method": "PUT", "path": "/api/badge",
            "headers": ["Authorization": .string("Key \(key)")],
            "body": ["userId": "ann", "badge": .string(text)],
        ]
        let ended = try Programs.run(
            "badge", stdin: JSON.line(event), environment: installation.environment)
        #expect(try Answer(event: ended.stdout).status == 422)
    }

    @Test(
        "a frozen clock stands within the years that a date can say",
        arguments: [
            ("253402300799999", 200), ("253402300800000", 503), ("9223372036854775807", 503),
            ("9223372036854775808", 503), ("-1", 503),
        ])
    func clock(text: String, status: Int) throws {
        let installation = try Installation(environment: ["TURNSTONE_NOW": text])
        let ended = try Programs.run(
            "health", stdin: JSON.line(["method": "GET", "path": "/health"]),
            environment: installation.environment)
        #expect(try Answer(event: ended.stdout).status == status)
    }

    @Test(
        "a drainer ends its work whatever its checkpoint and its receipts say",
        arguments: [
            (#"{"version":1,"day":"2026-11-20","offset":9223372036854775807}"#, ""),
            (#"{"version":1,"day":"2026-11-20","offset":-9223372036854775808}"#, ""),
            ("", #"{"id":"7c9f2a54-1f0e-8b34-9a11-000000000001","from":0,"to":4294967295}"#),
            ("", #"{"id":"7c9f2a54-1f0e-8b34-9a11-000000000001","from":0,"to":16777215}"#),
            ("", #"{"id":"7c9f2a54-1f0e-8b34-9a11-000000000001","pass":9223372036854775807}"#),
        ])
    func recovery(checkpoint: String, receipt: String) throws {
        let installation = try Installation(environment: ["DELIVER_LINGER_SECONDS": "0"])
        let state = installation.state
        try state.write(#"{"version":3}"#, to: "version.json")
        if !checkpoint.isEmpty { try state.write(checkpoint, to: "spool/apns/checkpoint.json") }
        let id = "7c9f2a54-1f0e-8b34-9a11-000000000001"
        try state.write(receipt + "\n", to: "receipts/2026-11-20.apns.1.jsonl")
        let head =
            #"{"version":1,"id":"\#(id)","accepted_at":1795262300000,"expires_at":1795265900000,"#
        let push =
            #""push":{"push_type":"alert","priority":10,"payload":{"aps":{"alert":"Hello"}}}}"#
        let device = #"{"n":0,"device":"\#(String(repeating: "ab", count: 32))"}"#
        try state.write("\(head)\(push)\n\(device)\n", to: "spool/apns/ready/normal/\(id).jsonl")
        let ended = try Programs.run(
            "deliver", stdin: "{}", environment: installation.environment, timeLimit: 15)
        #expect(ended.exitCode == 0, "\(ended.stderr)")
        #expect(ended.stdout.contains(#""accepted":1"#))
    }
}

/// Where a number is in a JSON value.
private struct Place: CustomStringConvertible {
    enum Step: Equatable {
        case member(String)
        case element(Int)

        var text: String {
            switch self {
            case .member(let name): name
            case .element(let place): "\(place)"
            }
        }
    }

    let steps: [Step]

    /// Without the numbers of elements, and with one name for all documents of a folder: trying each once is
    /// enough.
    var description: String {
        steps.compactMap { step in
            guard case .member(let name) = step else { return nil }
            return name.contains("/") ? String(name.prefix { $0 != "/" }) : name
        }.joined(separator: " ")
    }

    static func all(in value: JSONValue, _ before: [Step] = []) -> [Place] {
        switch value {
        case .integer, .number: [Place(steps: before)]
        case .object(let members):
            members.members.flatMap { all(in: $0.value, before + [.member($0.name)]) }
        case .array(let elements):
            elements.enumerated().flatMap { all(in: $1, before + [.element($0)]) }
        default: []
        }
    }

    static func replacing(
        _ steps: ArraySlice<Step>, in value: JSONValue, by new: JSONValue
    ) -> JSONValue {
        guard let step = steps.first else { return new }
        switch (step, value) {
        case (.member(let name), .object(var members)):
            members[name] = replacing(steps.dropFirst(), in: members[name] ?? .null, by: new)
            return .object(members)
        case (.element(let place), .array(var elements)):
            elements[place] = replacing(steps.dropFirst(), in: elements[place], by: new)
            return .array(elements)
        default: return value
        }
    }
}
