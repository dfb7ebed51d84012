import Foundation
import JSON
import PushServices
import Signatures
import Store
import TestSupport
import Testing
import Turnstone
import Unix
import WebPushCredentials

@Suite struct VAPIDTests {
    private let folder = TemporaryFolder()
    private let now = Timestamp(seconds: 1_763_700_000)
    private let origin = "https://push.example.net"

    private func settings(_ subject: String = "mailto:push@example.org") throws -> WebPushSettings {
        try #require(
            try WebPushSettings(WebPushSettingsTests.variables(["VAPID_SUBJECT": subject])))
    }

    private func state() throws -> State {
        var variables = Variables()
        variables.offer("TURNSTONE_STATE", folder.path)
        return try State(variables)
    }

    /// RFC 8292 section 2, and RFC 7515 for the form.
    @Test func aTokenSaysForWhomAndHowLong() throws {
        let key = try ES256PrivateKey.generate()
        let header = try VAPIDToken(
            origin: origin, subject: "mailto:push@example.org", key: key, at: now
        ).header
        #expect(header.hasPrefix("vapid t="))
        let parameters = header.dropFirst(8).components(separatedBy: ", k=")
        try #require(parameters.count == 2)
        let publicKey = try #require(
            ES256PublicKey(point: base64URLDecoded(parameters[1]) ?? []))
        let parts = parameters[0].components(separatedBy: ".")
        try #require(parts.count == 3)
        let signature = try #require(base64URLDecoded(parts[2]))
        #expect(publicKey.verify(signature, of: Array("\(parts[0]).\(parts[1])".utf8)))
        let claims = try JSON.parse(#require(base64URLDecoded(parts[1])))
        #expect(
            claims == [
                "aud": .string(origin), "exp": .integer(now.seconds + 22 * 3600),
                "sub": "mailto:push@example.org",
            ])
        let head = try JSON.parse(#require(base64URLDecoded(parts[0]))).object
        #expect(head?["alg"] == "ES256")
        #expect(head?["typ"] == "JWT")
    }

    /// Users can make up hosts below those of known push services.
    @Test func madeUpPushServicesFillNoFolder() throws {
        let (state, settings) = (try state(), try settings())
        let key = try state.vapidKey(settings)
        func ask(_ number: Int, _ moment: Timestamp) throws {
            let origin = "https://n\(number).notify.windows.com"
            let token = try state.vapidToken(
                settings, key: key, origin: origin, rejected: nil, now: moment)
            #expect(token.header.hasPrefix("vapid t="))
        }
        func names() -> Set<String> {
            Set(folder.files().keys.filter { $0.hasPrefix("credentials/vapid-") })
        }
        for number in 0..<300 { try ask(number, now) }
        let full = names()
        #expect((500...514).contains(full.count))
        // A day later they are over, and make room.
        for name in full {
            try FileManager.default.setAttributes(
                [.modificationDate: Date().addingTimeInterval(-90_000)],
                ofItemAtPath: "\(folder.path)/\(name)")
        }
        try ask(1000, now + .hours(25))
        #expect(names().count == 2)
    }

    @Test(
        "a token is made anew at most hourly, and is valid for 12 hours",
        arguments: [
            (0 as Int64, false, true), (59, false, true), (599, false, true), (600, false, false),
            (59, true, true), (60, true, false), (-59, false, true), (-60, false, false),
            (-59, true, true),
        ])
    func renewal(minutes: Int64, isRejected: Bool, isKept: Bool) throws {
        let (state, settings) = (try state(), try settings())
        let key = try state.vapidKey(settings)
        let first = try state.vapidToken(
            settings, key: key, origin: origin, rejected: nil, now: now)
        let second = try state.vapidToken(
            settings, key: key, origin: origin, rejected: isRejected ? first.header : nil,
            now: now + .minutes(minutes))
        #expect((second.header == first.header) == isKept)
    }

    @Test("a hundred at once make one key, and one token for each push service")
    func atOnceOneToken() async throws {
        let folder = folder.path
        let moment = now
        let headers = try await atOnce(100) { number in
            var variables = WebPushSettingsTests.variables([
                "VAPID_SUBJECT": "mailto:push@example.org"
            ])
            variables.offer("TURNSTONE_STATE", folder)
            let settings = try #require(try WebPushSettings(variables))
            let state = try State(variables)
            return try state.vapidToken(
                settings, key: state.vapidKey(settings),
                origin: "https://push\(number % 3).example.net", rejected: nil, now: moment
            ).header
        }
        #expect(Set(headers).count == 3)
        let keys = headers.compactMap { $0.split(separator: " ").last }
        #expect(Set(keys).count == 1)
    }

    @Test func anotherOriginSubjectOrKeyHasAnotherToken() throws {
        let (state, settings) = (try state(), try settings())
        let key = try state.vapidKey(settings)
        func token(
            _ settings: WebPushSettings, _ key: ES256PrivateKey, _ origin: String
        ) throws -> String {
            try state.vapidToken(
                settings, key: key, origin: origin, rejected: nil, now: now
            ).header
        }
        let first = try token(settings, key, origin)
        #expect(try token(settings, key, "https://other.example.net") != first)
        #expect(try token(settings, key, origin) == first)
        let other = try self.settings("mailto:other@example.org")
        #expect(try token(other, key, origin) != first)
        #expect(try token(settings, .generate(), origin) != first)
    }

    @Test func theInstallationsKeyIsMadeOnce() throws {
        let (state, settings) = (try state(), try settings())
        let key = try state.vapidKey(settings)
        #expect(try state.vapidKey(settings).fingerprint == key.fingerprint)
        #expect(try self.state().vapidKey(settings).fingerprint == key.fingerprint)
        let file = "\(folder.path)/credentials/vapid.json"
        let attributes = try FileManager.default.attributesOfItem(atPath: file)
        #expect((attributes[.posixPermissions] as? Int) == 0o600)
    }

    @Test func manyProgramsAtOnceMakeOneKey() throws {
        var answers: Set<String> = []
        let programs = try (0..<50).map { _ in
            let (program, input, output) = (Process(), Pipe(), Pipe())
            program.executableURL = URL(fileURLWithPath: Programs.path("push-config"))
            program.environment = [
                "TURNSTONE_STATE": folder.path, "TURNSTONE_CONFIG": "/dev/null",
                "VAPID_SUBJECT": "mailto:push@example.org",
            ]
            program.standardInput = input
            program.standardOutput = output
            try program.run()
            let event = #"{"method": "GET", "path": "/api/push/config"}"#
            try input.fileHandleForWriting.write(contentsOf: Data(event.utf8))
            try input.fileHandleForWriting.close()
            return (program, output)
        }
        for (program, output) in programs {
            let answer = try output.fileHandleForReading.readToEnd() ?? Data()
            answers.insert(String(decoding: answer, as: UTF8.self))
            program.waitUntilExit()
        }
        #expect(answers.count == 1)
        let key = base64URL(try state().vapidKey(settings()).publicKey.point)
        #expect(answers.first?.contains(key) == true)
    }

    @Test("a key that was lost is not replaced: every browser would have to subscribe again")
    func lostKey() throws {
        let (state, settings) = (try state(), try settings())
        _ = try state.vapidKey(settings)
        let file = "\(folder.path)/credentials/vapid.json"
        try FileManager.default.removeItem(atPath: file)
        let failure = try #require(throws: Failure.self) { try state.vapidKey(settings) }
        #expect(failure.disposition == .broken)
        #expect(!FileManager.default.fileExists(atPath: file))
    }

    @Test func aDamagedKeyIsNotReplaced() throws {
        let (state, settings) = (try state(), try settings())
        try folder.write(
            Array(#"{"version": 1, "revision": 1, "private_key": "none"}"#.utf8),
            to: "credentials/vapid.json")
        let failure = try #require(throws: Failure.self) { try state.vapidKey(settings) }
        #expect(failure.disposition == .broken)
        #expect(failure.sentence.contains("credentials/vapid.json"))
    }
}
