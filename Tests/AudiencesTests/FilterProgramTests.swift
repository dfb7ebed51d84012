import Documents
import Foundation
import JSON
import TestSupport
import Testing
import Turnstone

/// Random filters asked of the real programs, which read the audience index: they must count those users and
/// devices that a plain evaluation of the documents finds.
@Suite struct FilterProgramTests {
    private let folder = TemporaryFolder()
    private let model = FilterModelTests()

    /// A user as the documents have it: what is known, and the devices.
    private struct Known {
        let user: FilterModelTests.RandomUser
        /// What ``user`` says about a device is about the first one.
        let devices: [(platform: String, version: [Int]?, isOpen: Bool)]
    }

    private func randomUsers(_ count: Int, _ random: inout Seeded) throws -> [Known] {
        try (0..<count).map { number in
            let user = model.randomUser(&random)
            var devices = [(user.platform, user.version, true)]
            for _ in 0..<random.one(in: 3) {
                let other = model.randomUser(&random)
                devices.append((other.platform, other.version, random.one(in: 4) != 0))
            }
            let known = Known(user: user, devices: devices)
            try write(known, number)
            return known
        }
    }

    private func write(_ known: Known, _ number: Int) throws {
        let devices = known.devices.enumerated().map { place, device in
            var members: [String: Any] = [
                "token": device.platform == "ios"
                    ? String(format: "%06x", 16 * number + place) : "fcm:\(number)-\(place)",
                "registered_at": 1_795_262_340_000,
            ]
            if device.platform != "ios" { members["platform"] = device.platform }
            members["app_version"] = device.version.map { "\($0[0]).\($0[1])" }
            if !device.isOpen { members["enabled"] = false }
            return members
        }
        let document: [String: Any] = [
            "version": 1, "revision": 1, "devices": devices, "profile": known.user.document,
        ]
        let name = UserID("user-\(number)")!.documentName
        try folder.write(
            Array(JSONSerialization.data(withJSONObject: document)),
            to: "users/\(name.shard!)/\(name.file).json")
    }

    private static let key = "the key of the backend of the app"

    private func count(_ filter: String) throws -> (users: Int64?, devices: Int64?) {
        let ended = try Programs.run(
            "notify",
            stdin:
                #"{"method": "POST", "path": "/api/notify/count", "headers": {"Authorization": "Key \#(Self.key)"}, "body": {"filters": \#(filter)}}"#,
            environment: [
                "TURNSTONE_STATE": folder.path, "TURNSTONE_SERVER_KEY": Self.key,
                "TURNSTONE_NOW": "\(FilterModelTests.now)", "TURNSTONE_CONFIG": "/dev/null",
                "TURNSTONE_DELIVER": "external", "FCM_SERVICE_ACCOUNT": "/nowhere",
            ])
        let answer = try Answer(event: ended.stdout)
        #expect(answer.status == 200, "\(filter): \(answer.body)")
        let members = answer.json?.object
        return (members?["users"]?.integer, members?["devices"]?.integer)
    }

    @Test("the programs count those whom a plain evaluation of the documents finds")
    func counts() throws {
        var random = Seeded(seed: UInt64.random(in: 0 ..< .max))
        let seed = random.state
        let users = try randomUsers(125, &random)
        var matches = 0
        for _ in 0..<80 {
            let text = model.randomFilter(&random)
            let filter = try #require(
                JSONSerialization.jsonObject(with: Data(text.utf8)) as? [[String: Any]])
            let devices = users.map { known in
                known.devices.count { device in
                    var user = known.user
                    (user.platform, user.version) = (device.platform, device.version)
                    return device.isOpen && model.plainly(matches: user, filter)
                }
            }
            let counted = try count(text)
            #expect(
                counted.users == Int64(devices.count { $0 > 0 })
                    && counted.devices == Int64(devices.reduce(0, +)),
                "seed \(seed): \(text): \(counted)")
            matches += devices.count { $0 > 0 }
        }
        // Otherwise the test would show little.
        #expect((1000...9500).contains(matches), "seed \(seed): \(matches)")
    }
}
