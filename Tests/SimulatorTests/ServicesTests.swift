import TestSupport
import Testing
import Turnstone

/// `--services` names the push services.
@Suite struct ServicesTests {
    private static let prefixes = [
        "apns": ["APNS_"], "fcm": ["FCM_"], "web": ["VAPID_", "WEBPUSH_"],
    ]
    private static let commands: [String: JSONObject] = [
        "apns": ["do": "apns-fault", "status": 503], "fcm": ["do": "fcm-fault", "status": 503],
        "web": ["do": "web-subscription"],
    ]

    @Test(
        "any of them can be started, and what leads to the others is left out",
        arguments: [
            [], ["apns"], ["fcm"], ["web"], ["apns", "fcm"], ["apns", "web"], ["web", "fcm"],
            ["apns", "fcm", "web"],
        ])
    func subset(names: [String]) throws {
        let simulator = try Simulator(
            names.isEmpty ? [] : ["--services", names.joined(separator: ",")])
        let started = names.isEmpty ? ["apns"] : names
        let report = try simulator.perform(["do": "report"])
        for (name, prefixes) in Self.prefixes {
            let isStarted = started.contains(name)
            #expect((simulator.addresses[name] != nil) == isStarted)
            #expect((report[name] != nil) == isStarted)
            for prefix in prefixes {
                let isThere = simulator.environment.keys.contains { $0.hasPrefix(prefix) }
                #expect(isThere == isStarted, "\(prefix)")
            }
            let command = try #require(Self.commands[name])
            if isStarted {
                try simulator.perform(command)
            } else {
                #expect(throws: TestFailure.self) { try simulator.perform(command) }
            }
        }
        let origins = started.compactMap { simulator.addresses[$0]?.string }
        #expect(Set(origins).count == started.count)
        #expect(simulator.environment["OGS_BASE_URL"] == simulator.addresses["ogs"]?.string)
        try simulator.perform(["do": "clear"])
        try simulator.perform(["do": "reset"])
    }

    @Test(arguments: ["", "apns,", "apns,gcm", "APNS", "apns web"])
    func aListOfOtherNamesIsRefused(list: String) throws {
        let folder = TemporaryFolder()
        let ended = try Programs.run(
            "simulator", ["--folder", folder.path, "--services", list], environment: [:])
        #expect(ended.exitCode != 0)
        #expect(ended.stderr.contains("--services must be any of apns, fcm and web"))
    }
}
