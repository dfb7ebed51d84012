import Foundation
import JSON
import TestSupport
import Testing
import Turnstone

/// Programs as their hosts see them: exit code, answer, log, and the files left behind.
///
/// Files that a fixture does not mention must stay the same, byte by byte, and there may be no new ones
/// except lock files (`….lock`) and the audience index. No log may contain a secret of the request or the
/// configuration.
///
/// Not tested here: more than one process at a time, a disk that is full, a client that hangs.
@Suite struct FixtureTests {
    @Test("a program does what its fixture says", arguments: FixtureName.all)
    func program(name: FixtureName) throws {
        var installation = try Installation()
        let fixture = try Fixture(name, in: installation)
        try installation.prepare(fixture)
        let before = installation.state.files()
        let ended = try Programs.run(
            fixture.program, fixture.arguments, stdin: fixture.request.input,
            environment: installation.environment)

        #expect(ended.exitCode == fixture.exitCode)
        var status: Int?
        if let expected = fixture.answer {
            let answer = try fixture.request.answer(ended.stdout)
            status = answer.status
            check(answer, against: expected)
        } else {
            checkOutput(ended, against: fixture.output)
        }
        checkLog(ended.stderr, of: fixture, status: status)
        check(installation.state.files(), before: before, against: fixture.then)
    }

    private func check(_ answer: Answer, against expected: JSONObject) {
        #expect(expected["status"] == .integer(Int64(answer.status)), "\(answer.body)")
        var headers: [String: String?] = [
            "content-type": answer.status == 204 ? nil : "application/json",
            "cache-control": "no-store", "x-content-type-options": "nosniff",
        ]
        for header in expected["headers"]?.object?.members ?? [] {
            headers[header.name.lowercased()] = nil
        }
        for (name, value) in headers { #expect(answer.headers[name] == value, "\(name)") }
        for header in expected["headers"]?.object?.members ?? [] {
            let value = answer.headers[header.name.lowercased()]
            #expect(value.map { JSONValue.string($0) } == header.value, "\(header.name)")
        }
        guard let body = expected["body"] else { return }
        if body == .string("") {
            #expect(answer.body.isEmpty)
        } else if let json = answer.json {
            #expect(Pattern.matches(json, body), "\(answer.body)")
        } else {
            // A page's file.
            #expect(body == .string(answer.body))
        }
    }

    private func checkOutput(_ ended: EndedProgram, against expected: [JSONValue]) {
        let lines = ended.stdout.split(separator: "\n")
        #expect(lines.count == expected.count, "\(ended.stdout)")
        for (line, expected) in zip(lines, expected) {
            let value = try? JSON.parse(Array(line.utf8))
            #expect(value.map { Pattern.matches($0, expected) } == true, "\(line)")
        }
    }

    private func checkLog(_ log: String, of fixture: Fixture, status: Int?) {
        for secret in fixture.secrets { #expect(!log.contains(secret)) }
        if let expected = fixture.log {
            #expect(Pattern.matches(log, expected), "\(log)")
        } else if fixture.exitCode == 0, status ?? 200 < 400 {
            #expect(log.isEmpty)
        } else {
            #expect(log.hasPrefix("\(fixture.program): "))
            #expect(log.hasSuffix("\n") && log.dropLast().allSatisfy { $0 != "\n" })
        }
    }

    private func check(
        _ after: [String: [UInt8]], before: [String: [UInt8]], against then: JSONObject
    ) {
        var unexplained = after.filter {
            // The audience index depends on the machine. AudienceIndexTests are about it.
            !$0.key.hasSuffix(".lock") && !$0.key.hasPrefix("audience/")
        }
        for member in then.members {
            let names = unexplained.keys.filter { Pattern.matches($0, member.name) }
            let isExpected = member.value != .null
            #expect(names.count == (isExpected ? 1 : 0), "\(member.name)")
            for name in names {
                let bytes = unexplained.removeValue(forKey: name) ?? []
                #expect(
                    Pattern.matches(FixtureFile(name).value(bytes), member.value),
                    "\(name): \(String(decoding: bytes, as: UTF8.self))")
            }
        }
        for (name, bytes) in unexplained {
            let text = String(decoding: bytes, as: UTF8.self)
            #expect(before[name] == bytes, "\(name) is new or changed: \(text)")
        }
        for name in before.keys where after[name] == nil && then[name] != .null {
            Issue.record("\(name) is gone")
        }
    }
}
