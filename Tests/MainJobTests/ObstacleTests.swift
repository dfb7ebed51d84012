import Foundation
import Glibc
import JSON
import TestSupport
import Testing
import Turnstone
import Unix

/// What stands in the way of one push service's queue: nothing is lost for it, no other user waits for it,
/// and `health` names it.
@Suite struct ObstacleTests {
    @Test(
        "anything in the place of the newest receipts keeps nothing from being accepted and sent, and is named",
        arguments: ["loop", "broken link", "folder"])
    func receipts(what: String) throws {
        let world = try World()
        try world.give("ann", devices: 1...1)
        let first = try world.sent(["users": ["ann"], "title": "One"])
        try world.run("deliver")
        let name = try #require(world.state.files().keys.first { $0.hasPrefix("receipts/") })
        let path = "\(world.state.path)/\(name)"
        try #require(rename(path, "\(world.state.path)/away") == 0)
        switch what {
        case "folder": try #require(mkdir(path, 0o700) == 0)
        default: try #require(symlink(what == "loop" ? path : "/nowhere/at/all", path) == 0)
        }
        #expect(try world.report(first)["counts"] == ["damaged": 1])
        let second = try world.sent(["users": ["ann"], "title": "Two"])
        for _ in 1...2 {
            try world.run("deliver")
            #expect(try world.acceptedIDs().count == 2)
            #expect(try world.report(second)["counts"] == ["accepted": 1])
            // Set aside, it is missing as before.
            #expect(try world.report(first)["counts"] == ["damaged": 1])
        }
        #expect(try world.problemMessages().contains { $0.contains("\(name).unreadable-") })
        // Put back as FORMAT.md says, it counts again.
        let copy = try #require(
            FileManager.default.contentsOfDirectory(atPath: "\(world.state.path)/receipts")
                .first { $0.contains("unreadable") })
        try FileManager.default.removeItem(atPath: "\(world.state.path)/receipts/\(copy)")
        try #require(rename("\(world.state.path)/away", path) == 0)
        #expect(try world.report(first)["counts"] == ["accepted": 1])
    }

    @Test(
        "one failed read of the provider token makes no new one, which APNs would refuse for 20 minutes",
        .enabled(if: SystemCalls.isPossible, "strace is not installed"),
        arguments: ["read,pread64:error=EIO", "openat:error=EACCES"], 1...3)
    func providerToken(fault: String, call: Int) throws {
        let world = try World()
        try world.give("ann", devices: 1...1)
        _ = try world.sent(["users": ["ann"], "title": "One"])
        try world.run("deliver")
        let name = try #require(
            world.state.files().keys.first {
                $0.hasPrefix("credentials/apns-") && $0.hasSuffix(".json")
            })
        let before = world.state.read(name)
        try world.advance(seconds: 60)
        let id = try world.sent(["users": ["ann"], "title": "Two"])
        let calls = fault.split(separator: ":")[0]
        _ = try Programs.start(
            at: SystemCalls.tracer,
            [
                "-f", "-qq", "-o", "/dev/null", "-P", "\(world.state.path)/\(name)", "-e",
                "trace=\(calls)", "-e", "inject=\(fault):when=\(call)", "--",
                "\(Programs.folder)/deliver",
            ], entries: world.environment.map { "\($0.key)=\($0.value)" }
        ).end()
        #expect(world.state.read(name) == before)
        #expect(try world.report(id)["counts"] == ["accepted": 1])
    }

    @Test("a link to nowhere in the place of a shared token or of its lock is replaced")
    func brokenLink() throws {
        let world = try World()
        try world.give("ann", devices: 1...1)
        _ = try world.sent(["users": ["ann"], "title": "One"])
        try world.run("deliver")
        let names = world.state.files().keys.filter { $0.hasPrefix("credentials/apns-") }
        #expect(names.count == 2)
        for name in names.sorted() {
            let path = "\(world.state.path)/\(name)"
            try #require(unlink(path) == 0 && symlink("/nowhere/at/all", path) == 0)
            // APNs takes another new token by then.
            try world.advance(seconds: 1500)
            let id = try world.sent(["users": ["ann"], "title": "Two"])
            try world.run("deliver")
            #expect(try world.report(id)["counts"] == ["accepted": 1], "\(name)")
        }
    }

    private func deliver(_ world: World, minutes: Int) throws {
        for _ in 0..<minutes {
            _ = try world.start("deliver").end()
            try world.advance(seconds: 60)
        }
    }

    /// A fault that all pushes meet, and whether they wait then.
    static let faults: [(fault: JSONObject, isPutOff: Bool)] = [
        (["do": "apns-fault", "kind": "reset", "code": 2], true),
        (["do": "apns-fault", "kind": "reset", "code": 7], true),
        (["do": "fcm-fault", "kind": "reset", "code": 2], true),
        (["do": "web-fault", "kind": "reset", "code": 2], true),
        (["do": "apns-fault", "status": 404, "reason": "BadPath"], false),
        (["do": "apns-fault", "status": 400, "reason": "DeviceTokenNotForTopic"], false),
        (["do": "fcm-fault", "status": 400, "reason": "INVALID_ARGUMENT"], false),
        (["do": "web-fault", "status": 405], false),
    ]

    @Test(
        "a push service that breaks off or refuses every push is seen, whatever was accepted before",
        arguments: faults, [false, true])
    func brokenService(of: (fault: JSONObject, isPutOff: Bool), isProven: Bool) throws {
        let world = try World.withAllServices()
        for user in 1...3 { try world.registerAllKinds(of: Int64(user), user) }
        let users: JSONObject = ["users": ["1", "2", "3"], "title": "Lunch"]
        if isProven {
            _ = try world.sent(users)
            try deliver(world, minutes: 1)
            #expect(try world.problemMessages() == [])
        }
        try world.simulator.perform(of.fault)
        _ = try world.sent(users)
        try deliver(world, minutes: 7)
        let found = try world.problemMessages()
        #expect(found.count == 1, "\(found)")
        let words = of.isPutOff ? "has answered no push" : "has accepted no push"
        #expect(found.first?.contains(words) == true, "\(found)")
        try world.simulator.perform(["do": "clear"])
        _ = try world.sent(users)
        try world.advance(seconds: 1800)
        try deliver(world, minutes: 2)
        #expect(try world.problemMessages() == [])
    }

    @Test(
        "a push service that breaks off for an installation's only message is seen",
        arguments: [
            ["do": "apns-fault", "kind": "drop"],
            ["do": "apns-fault", "kind": "drop", "accepted": true],
            ["do": "fcm-fault", "kind": "drop"],
        ] as [JSONObject])
    func brokenForOne(fault: JSONObject) throws {
        let world = try World.withAllServices()
        try world.registerAllKinds(of: 1)
        try world.simulator.perform(fault)
        _ = try world.sent(["users": ["1"], "title": "Lunch"])
        try deliver(world, minutes: 12)
        let found = try world.problemMessages()
        #expect(found.count == 1 && found[0].contains("has answered no push"), "\(found)")
        try world.simulator.perform(["do": "clear"])
        try world.advance(seconds: 1800)
        try deliver(world, minutes: 2)
        #expect(try world.problemMessages() == [])
    }

    @Test(
        "health names a document's lock that a process does not let go",
        arguments: [("users", false), ("users", true), ("tokens", false)])
    func heldLock(shelf: String, isMetByDrainer: Bool) throws {
        let world = try World()
        world.variables["TURNSTONE_SERVER_KEY"] = World.serverKey
        try world.register(token(1), of: 1)
        if isMetByDrainer { _ = try world.sent(["users": ["1"], "title": "Lunch", "badge": 5]) }
        let document = try #require(
            world.state.files().keys.first {
                $0.hasPrefix("\(shelf)/") && $0.hasSuffix(".json")
            })
        let name = SharedLock.file(of: document)
        let file = try SharedLock.open(of: document, in: world.state)
        #expect(try file.tryLock())
        #expect(try world.problemMessages() == [])
        if isMetByDrainer {
            _ = try world.start("deliver").end()
        } else {
            // A token that is known already is renewed in its user's document alone.
            let user: Int64 = shelf == "tokens" ? 2 : 1
            let answer = try world.ask(
                "register", "POST", "/register", by: user, world.registration(token(1), of: user))
            #expect(answer.status == 503)
        }
        let found = try world.problemMessages()
        #expect(found.count == 1 && found[0].contains("\(name) (busy)"), "\(found)")
        #expect(found.first?.contains("lslocks") == true, "\(found)")
        file.unlock()
        #expect(try world.problemMessages() == [])
    }

    /// The token of an iOS or web app of the same Firebase project, whose key Google lacks.
    @Test func oneAppsTokenStopsNobodyElse() throws {
        let world = try World.withAllServices()
        try world.registerAllKinds(of: 1)
        try world.registerAllKinds(of: 2, 2)
        try world.simulator.perform([
            "do": "fcm-fault", "token": .string("\(World.androidToken)2"), "status": 401,
            "reason": "THIRD_PARTY_AUTH_ERROR",
        ])
        let id = try world.sent(["users": ["2"], "title": "Lunch"])
        try world.run("deliver")
        _ = try world.sent(["users": ["1"], "title": "Dinner"])
        try world.run("deliver")
        #expect(try world.accepted() == ["apns": 2, "fcm": 1, "web": 2])
        #expect(try world.problems() == [])
        #expect(try world.report(id)["counts"] == ["accepted": 2, "refused": 1])
        #expect(try world.document(2)["devices"]?.array?.count == 3)
    }

    /// A user chooses the path of an endpoint, and so what the push service answers.
    @Test(arguments: [
        (#"{"status": 403}"#, 6 as Int64), (#"{"status": 401}"#, 6), (#"{"status": 503}"#, 6),
        (#"{"status": 429, "retry_after": 600}"#, 1), (#"{"kind": "stall"}"#, 1),
    ])
    func oneBrowserStopsNobodyElse(fault: String, requests: Int64) throws {
        let world = try World.withAllServices()
        let browser = try world.registerAllKinds(of: 1)
        try world.registerAllKinds(of: 2, 2)
        _ = try world.sent(["users": ["2"], "title": "Breakfast"])
        try world.run("deliver")
        var command = try #require(try JSON.parse(Array(fault.utf8)).object)
        command["do"] = "web-fault"
        command["token"] = .string(browser)
        try world.simulator.perform(command)
        world.variables["DELIVER_LINGER_SECONDS"] = "60"
        let drainer = try world.start("deliver-web")
        defer { drainer.send(SIGKILL) }
        for number in 0..<6 { _ = try world.sent(["users": ["1"], "title": .string("\(number)")]) }
        func isDone(_ condition: () throws -> Bool) throws -> Bool {
            for _ in 0..<100 where try !condition() { usleep(50_000) }
            return try condition()
        }
        #expect(
            try isDone { try world.simulator.report("web")["requests"] == .integer(1 + requests) })
        _ = try world.sent(["users": ["2"], "title": "Lunch"])
        #expect(try isDone { try world.accepted()["web"] == 2 })
        try world.registerAllKinds(of: 3, 3)
        _ = try world.sent(["users": ["3"], "title": "Lunch"])
        #expect(try isDone { try world.accepted()["web"] == 3 })
    }

    @Test func refusalsToThreeUsersStopAPushService() throws {
        let world = try World.withAllServices()
        for player in 1...5 { try world.registerAllKinds(of: Int64(player), player) }
        try world.simulator.perform(["do": "web-fault", "status": 403])
        for player in 1...5 {
            _ = try world.sent(["users": [.string("\(player)")], "title": "Lunch"])
        }
        _ = try world.start("deliver").end()
        #expect(try world.simulator.report("web")["requests"] == 3)
        try world.simulator.perform(["do": "clear"])
        try world.advance(seconds: 16 * 60)
        _ = try world.start("deliver").end()
        #expect(try world.accepted()["web"] == 5)
    }

    @Test func aHostThatIsNoLongerAllowedWaits() throws {
        let world = try World.withAllServices()
        try world.registerAllKinds(of: 1)
        world.variables["WEBPUSH_HOSTS"] = "push.example.org"
        world.variables["WEBPUSH_PRIVATE_HOSTS"] = ""
        let id = try world.sent(["users": ["1"], "title": "Lunch"])
        try deliver(world, minutes: 7)
        #expect(try world.report(id)["counts"] == ["accepted": 2, "waiting": 1])
        #expect(try world.problemMessages().contains { $0.contains("is not in WEBPUSH_HOSTS") })
        world.variables["WEBPUSH_HOSTS"] = nil
        world.variables["WEBPUSH_PRIVATE_HOSTS"] = nil
        try deliver(world, minutes: 2)
        #expect(try world.report(id)["counts"] == ["accepted": 3])
        #expect(try world.problems() == [])
    }

    @Test func aListOfHostsHasCommas() throws {
        let world = try World.withAllServices()
        world.variables["WEBPUSH_HOSTS"] = "push.example.org push.example.net"
        let ended = try world.start("deliver-web").end()
        #expect(ended.exitCode == 100)
        #expect(ended.stderr.contains("WEBPUSH_HOSTS"), "\(ended.stderr)")
    }

    @Test(arguments: ["certificates", "address"])
    func browsersThatCannotBeReachedAreReported(what: String) throws {
        let world = try World.withAllServices()
        try world.registerAllKinds(of: 1)
        if what == "certificates" {
            let other = try Simulator()
            let authority = "\(world.state.path)/other-ca.pem"
            try FileManager.default.copyItem(
                atPath: other.environment["APNS_CA_FILE"] ?? "", toPath: authority)
            world.variables["WEBPUSH_CA_FILE"] = authority
        } else {
            // Named, but not as one that may be private.
            world.variables["WEBPUSH_PRIVATE_HOSTS"] = "push.example.org"
        }
        let id = try world.sent(["users": ["1"], "title": "Lunch"])
        try deliver(world, minutes: 7)
        #expect(try world.problems() == ["delivery failing"])
        #expect(try world.report(id)["counts"] == ["accepted": 2, "waiting": 1])
        world.variables["WEBPUSH_CA_FILE"] = nil
        world.variables["WEBPUSH_PRIVATE_HOSTS"] = nil
        try deliver(world, minutes: 2)
        #expect(try world.report(id)["counts"] == ["accepted": 3])
        #expect(try world.problems() == [])
    }

    /// A browser at a host that its user has made up is nobody else's problem.
    @Test func aMadeUpHostIsNoProblemOfTheInstallation() throws {
        let world = try World.withAllServices()
        let known = try world.simulator.perform(["do": "web-subscription"])
        guard let keys = known["subscription"]?.object?["keys"] else {
            throw TestFailure("no keys")
        }
        let answer = try world.ask(
            "register", "POST", "/register", by: 1,
            [
                "user_id": "1", "platform": "web",
                "subscription": [
                    "endpoint": "https://no-such-host.notify.windows.com/w/1", "keys": keys,
                ],
            ])
        #expect(answer.status == 200)
        _ = try world.sent(["users": ["1"], "title": "Lunch"])
        try deliver(world, minutes: 7)
        #expect(try world.problems() == [])
    }

    /// The key is not on the curve, so no message can be encrypted for it.
    @Test func aBrowserWithABadKeyIsQuarantined() throws {
        let world = try World.withAllServices()
        for user in 1...4 {
            let known = try world.simulator.perform(["do": "web-subscription"])
            var subscription = try #require(known["subscription"]?.object)
            var keys = try #require(subscription["keys"]?.object)
            // 0x04, then an x and a y of 32 bytes each.
            keys["p256dh"] = .string("BA" + String(repeating: "_", count: 84) + "8")
            subscription["keys"] = .object(keys)
            let answer = try world.ask(
                "register", "POST", "/register", by: Int64(user),
                [
                    "user_id": .string("\(user)"), "platform": "web",
                    "subscription": .object(subscription),
                ])
            #expect(answer.status == 200, "\(answer.body)")
        }
        let users: JSONObject = ["users": ["1", "2", "3", "4"], "title": "Lunch"]
        let id = try world.sent(users)
        try world.run("deliver")
        #expect(try world.report(id)["counts"] == ["quarantined": 4])
        for user in Int64(1)...4 {
            let device = try world.document(user)["devices"]?.array?.first?.object
            #expect(device?["quarantined_at"] != nil, "\(device ?? [:])")
        }
        #expect(try world.problems() == [])
    }

    /// Nor is one where the user's own server breaks off or fails. With a second user it may be the service.
    @Test(arguments: [["kind": "reset", "code": 2], ["status": 500]] as [JSONObject], [1, 2])
    func brokenServer(fault: JSONObject, users: Int) throws {
        let world = try World.withAllServices()
        let hosts = try #require(world.simulator.environment["WEBPUSH_HOSTS"])
        let open = hosts.replacingOccurrences(of: "127.0.0.1", with: "*.push.localhost")
        world.variables["WEBPUSH_HOSTS"] = open
        world.variables["WEBPUSH_PRIVATE_HOSTS"] = open
        for user in 1...users {
            let known = try world.simulator.perform(["do": "web-subscription"])
            var subscription = try #require(known["subscription"]?.object)
            let endpoint = try #require(subscription["endpoint"]?.string)
            subscription["endpoint"] = .string(
                endpoint.replacingOccurrences(of: "127.0.0.1", with: "own.push.localhost"))
            let answer = try world.ask(
                "register", "POST", "/register", by: Int64(user),
                [
                    "user_id": .string("\(user)"), "platform": "web",
                    "subscription": .object(subscription),
                ])
            #expect(answer.status == 200, "\(answer.body)")
        }
        var command = fault
        command["do"] = "web-fault"
        try world.simulator.perform(command)
        let id = try world.sent(["users": ["1", "2"], "title": "Lunch"])
        try deliver(world, minutes: 7)
        #expect(try world.problems() == (users == 1 ? [] : ["delivery failing"]))
        #expect(try world.report(id)["counts"]?.object?["waiting"] == .integer(Int64(users)))
    }

    @Test func noAccessTokenIsSaidInTheRightWords() throws {
        let world = try World.withAllServices()
        try world.registerAllKinds(of: 1)
        try world.simulator.perform(["do": "oauth-fault", "status": 400, "reason": "invalid_grant"])
        _ = try world.sent(["users": ["1"], "title": "Lunch"])
        let ended = try world.start("deliver").end()
        #expect(ended.exitCode == 111)
        #expect(ended.stderr.contains("no access token for FCM from 127.0.0.1"), "\(ended.stderr)")
        let said = try world.problemMessages().joined()
        #expect(said.contains("invalid_grant") && said.contains("FCM_SERVICE_ACCOUNT"), "\(said)")
        #expect(!said.contains("no connection"), "\(said)")
    }

    @Test func aPushWithoutAnAnswerMayHaveArrived() throws {
        let world = try World.withAllServices()
        try world.registerAllKinds(of: 1)
        for service in ["apns", "fcm", "web"] {
            try world.simulator.perform([
                "do": .string("\(service)-fault"), "kind": "drop", "accepted": true,
            ])
        }
        let id = try world.sent(["users": ["1"], "title": "Lunch"])
        _ = try world.start("deliver").end()
        let devices = try world.report(id)["devices"]?.array?.compactMap(\.object) ?? []
        #expect(devices.count == 3)
        #expect(devices.allSatisfy { $0["state"] == "waiting" && $0["mayHaveArrived"] == true })
        try world.simulator.perform(["do": "clear"])
        try deliver(world, minutes: 2)
        let later = try world.report(id)["devices"]?.array?.compactMap(\.object) ?? []
        #expect(later.allSatisfy { $0["state"] == "accepted" && $0["mayHaveArrived"] == nil })
    }

    /// An erasure ends all drainers. What they had put off is not forgotten.
    @Test func deliveryGoesOnAfterAnErasure() async throws {
        try await onItsOwnThread {
            let world = try World.withAllServices()
            try world.registerAllKinds(of: 1)
            try world.registerAllKinds(of: 2, 2)
            try world.simulator.perform(["do": "clock"])
            world.hidden = ["TURNSTONE_NOW", "TURNSTONE_DELIVER"]
            world.variables["DELIVER_LINGER_SECONDS"] = "10"
            for service in ["apns", "fcm", "web"] {
                try world.simulator.perform([
                    "do": .string("\(service)-fault"), "status": 503, "retry_after": 4, "count": 1,
                ])
            }
            _ = try world.sent(["users": ["1"], "title": "Lunch"])
            for _ in 0..<200 where world.state.files().keys.count(where: isPutOff) < 3 {
                usleep(50_000)
            }
            let erased = try Answer(
                event: world.startBackend("users", world.message("DELETE", "/api/users/2"))
                    .end().stdout)
            #expect(erased.status == 200, "\(erased.body)")
            #expect(try world.simulator.waitForPushes(3, milliseconds: 30_000))
            // Ends the drainers, which still linger.
            let again = try Answer(
                event: world.startBackend("users", world.message("DELETE", "/api/users/1"))
                    .end().stdout)
            #expect(again.status == 200, "\(again.body)")
        }
    }
}

private func isPutOff(_ path: String) -> Bool {
    path.contains("/waiting/") && path.hasSuffix(".jsonl")
}
