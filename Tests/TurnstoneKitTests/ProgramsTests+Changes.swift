import Foundation
import TestSupport
import Testing
import TurnstoneKit

/// Changes that others make meanwhile, and tokens that replace others.
extension ProgramsTests {
    @Test func aProfileThatWasChangedMeanwhileIsKept() async throws {
        let ann = try app()
        try await ann.changeProfile(["language": "de"])
        let read = try await ann.taggedProfile()
        let changed = try await ann.changeProfile(["language": "fr"], since: read)
        #expect(changed.members["language"] == "fr" && changed.tag != nil)
        do {
            try await ann.changeProfile(["language": "ja"], since: read)
            Issue.record("a newer profile was overwritten")
        } catch {
            guard case .changed = error else { throw error }
        }

        let backend = ServerClient(at: address, key: Self.serverKey)
        let known = try await backend.user("ann")
        #expect(known.profile["language"] == "fr" && known.tag == changed.tag)
        let newer = try await backend.change("ann", ["tags": ["rank": 1]], since: known)
        do {
            try await backend.change("ann", ["tags": ["rank": 2]], since: known)
            Issue.record("a newer profile was overwritten")
        } catch {
            guard case .changed = error else { throw error }
        }
        #expect(try await backend.user("ann").tag == newer.tag)
        #expect(try await backend.status(of: "ann", limit: 5)["events"]?.array == [])
        #expect(try await backend.erase("ann").unreadable == 0)
    }

    @Test func aTokenThatReplacesAnotherKeepsTheDevice() async throws {
        let ann = try app()
        let new = PushToken.apple(Data(repeating: 0x5b, count: 32))
        try await ann.register(.apple(token), name: "iPhone")
        let device = try await ann.registerDevice(
            new, environment: .development, replacing: .apple(token), model: "iPhone15,2",
            system: "iOS 19.1")
        #expect(try await ann.devices().map(\.id) == [device])
        #expect(try await ann.devices().map(\.deviceName) == ["iPhone"])
        #expect(try await ann.status().devices?.map(\.id) == [device])
        try await ann.changeProfile(["devices": [device: ["enabled": false]]])
        let backend = ServerClient(at: address, key: Self.serverKey)
        let known = try #require(try await backend.user("ann").devices.first)
        #expect(known.environment == .development && known.model == "iPhone15,2")
        #expect(known.os == "iOS 19.1" && !known.isEnabled)
        #expect(try await ann.webPushKey().count == 87)
    }
}
