import Foundation
import JSON
import TestSupport
import Testing
import Turnstone
import Unix

extension Attacks {
    /// One user's devices and messages, and everybody else's pushes.
    @Suite struct DeliveryAttacks {
        @Test("a device of an environment that refuses our key stops nobody else's pushes")
        func foreignEnvironment() throws {
            let row = AttackRow(
                "a device of the environment whose gateway answers 403 BadEnvironmentKeyIdInToken")
            let installation = try Installation()
            let development = try installation.beginDevelopment()
            try development.perform([
                "do": "apns-fault", "status": 403, "reason": "BadEnvironmentKeyIdInToken",
            ])
            let users = (1...Length.times(100, few: 10)).map { "user-\($0)" }
            let devices = tokens(1...users.count)
            try installation.registerAll(users, tokens: devices)
            let foreign = tokens(1...1, "e")[0]
            try installation.register(foreign, of: "eve", ["environment": "development"])
            var delivered: [Int] = []
            let rounds = Length.times(5, few: 2)
            for _ in 0..<rounds {
                let before = try installation.accepted(devices)
                try installation.notify(["eve"])
                try installation.notify(users)
                try installation.run("deliver")
                delivered.append(try installation.accepted(devices) - before)
                try installation.advance(seconds: 301)
            }
            #expect(delivered == Array(repeating: users.count, count: rounds))
            #expect(try development.apns()["requests"] == .integer(Int64(rounds)))
            try row.report(
                "others' pushes delivered in \(rounds) runs, each with a 403",
                before: "0 for 5 minutes, after each 403",
                now: delivered.reduce(0, +).of(rounds * users.count))
        }

        @Test("one user's dead tokens are taken out, and nobody's healthy device with them")
        func deadTokens() throws {
            let row = AttackRow("30 dead tokens of one user among 40 healthy users")
            let installation = try Installation()
            let development = try installation.beginDevelopment()
            let users = (1...40).map { "user-\($0)" }
            let healthy = tokens(1...40)
            let dead = tokens(1...30, "d")
            try installation.registerAll(users, tokens: healthy)
            for token in dead {
                try installation.register(token, of: "eve")
                for gateway in [installation.simulator, development] {
                    try gateway.perform(["do": "token", "token": .string(token), "is": "bad"])
                }
            }
            /// The requests to both gateways, with their answers.
            func asked() throws -> (requests: Int64, bad: Int64) {
                let reports = try [installation.simulator, development].map { try $0.apns() }
                return (
                    reports.reduce(0) { $0 + ($1["requests"]?.integer ?? 0) },
                    reports.reduce(0) {
                        $0 + ($1["answers"]?.object?["BadDeviceToken"]?.integer ?? 0)
                    }
                )
            }
            for _ in 0..<2 {
                try installation.notify(["eve"] + users)
                try installation.run("deliver")
                try installation.advance(seconds: 60)
            }
            let first = try asked()
            try installation.notify(["eve"] + users)
            try installation.run("deliver")
            let last = try asked()
            let devices = try installation.members(of: installation.document(of: "eve"))["devices"]
            let removed = devices?.array?.count { $0.object?["quarantined_at"] != nil } ?? 0
            let reached = try installation.accepted(healthy)
            #expect(removed == 30 && devices?.array?.count == 30)
            #expect(reached == 3 * 40)
            #expect(last.bad == 60 && first.bad == 60)
            #expect(last.requests - first.requests == 40)
            try row.report("dead tokens taken out", before: "0", now: removed.of(30))
            try row.report(
                "pushes to healthy devices in three runs", before: "-", now: reached.of(120))
            try row.report(
                "BadDeviceToken from both gateways in a later run", before: "31 from each",
                now: "\(last.bad - first.bad)")
        }

        @Test(
            "many changes of a badge make two pushes to each device at most, whoever makes them",
            arguments: [false, true])
        func badgeChanges(isOfTwo: Bool) throws {
            let changes = Length.times(300, few: 40)
            let devices = tokens(1...Length.times(50, few: 10))
            let row = AttackRow(
                "\(changes) changes of a badge on \(devices.count) devices"
                    + (isOfTwo ? ", by two of them in turn" : ""))
            let installation = try Installation()
            for token in devices { try installation.register(token, of: "eve") }
            try installation.register(tokens(1...1, "b")[0], of: "bob")
            try installation.advance(seconds: 1)
            for number in 0..<changes {
                var body: JSONObject = ["badge": "+1"]
                if isOfTwo { body["deviceToken"] = .string(devices[number % 2]) }
                let reply = try installation.ask(
                    "PUT", "/api/badge", by: .user("eve"), .object(body))
                #expect(reply.status == 200)
            }
            try installation.notify(["bob"])
            try installation.run("deliver")
            let pushes = try installation.accepted()
            let badges = pushes.compactMap {
                $0["payload"]?.object?["aps"]?.object?["badge"]?.integer
            }
            let place = pushes.firstIndex { $0["token"]?.string?.hasSuffix("b") == true }
            // Two devices that know different numbers need two pushes that wait.
            let most = devices.count * 2 - 1
            #expect(badges.allSatisfy { $0 == changes })
            #expect(isOfTwo ? badges.count <= most : badges.count == devices.count)
            let reached = Set(pushes.compactMap { $0["token"]?.string })
            #expect(reached.isSuperset(of: devices))
            #expect(try #require(place) <= most)
            try row.report(
                "pushes made", before: "60,000 (20 changes, 3,001 devices)",
                now: "\(pushes.count - 1)")
            try row.report(
                "pushes before somebody else's message", before: "13 s of them (100 devices)",
                now: "\(place ?? -1)")
        }

        @Test("users whose documents are damaged or busy keep a broadcast from nobody")
        func brokenUsers() throws {
            let count = Length.times(100, few: 20)
            let row = AttackRow("a broadcast to \(count) users, one unreadable and one locked")
            let installation = try Installation()
            let users = (1...count).map { "user-\($0)" }
            let devices = tokens(1...count)
            try installation.registerAll(users, tokens: devices)
            let damaged = try installation.document(of: "user-7")
            let text = try #require(installation.state.read(damaged))
            try installation.state.write("{", to: damaged)
            let busy = try installation.document(of: "user-9")
            let lock = try FileDescriptor.open(
                "\(installation.state.path)/\(SharedLock.file(of: busy))", .update)
            #expect(try lock.tryLock())
            let body: JSONObject = ["badge": "+1", "idempotency_key": "once"]
            for _ in 0..<2 { #expect(try installation.notify(users, body).status == 202) }
            try installation.run("deliver")
            let whileLocked = try installation.accepted(devices)
            lock.unlock()
            #expect(try installation.notify(users, body).status == 202)
            for _ in 0..<3 {
                try installation.advance(seconds: 901)
                try installation.run("deliver")
            }
            let all = try installation.accepted(devices)
            try installation.state.write(text, to: damaged)
            let badges = try users.map { user in
                try installation.ask("GET", "/api/badge?userId=\(user)", by: .backend)
                    .json?.object?["badge"]?.integer
            }
            #expect(whileLocked >= count - 2)
            #expect(all == count - 1)
            #expect(badges.count(where: { $0 == 1 }) == count - 1)
            try row.report(
                "users who got it, while locked and in the end", before: "nobody",
                now: "\(whileLocked), \(all.of(count))")
            try row.report(
                "largest badge after three requests with one idempotency key",
                before: "one more for each",
                now: "\(badges.compactMap(\.self).max() ?? -1)")
        }

        @Test("very many messages to one user keep nobody waiting")
        func manyMessages() throws {
            let many = Length.times(30_000, few: 2000)
            let row = AttackRow("\(many) messages to one user before one each to others")
            // A gateway that keeps a journal of its requests is slower than the drainer.
            let installation = try Installation(simulator: ["--quiet-journal"])
            try installation.useSystemClock()
            let others = (1...Length.times(20, few: 5)).map { "user-\($0)" }
            let devices = tokens(1...others.count)
            try installation.registerAll(others, tokens: devices)
            let noisy = tokens(9999...9999, "e")[0]
            try installation.register(noisy, of: "eve")
            let quiet = try installation.waits(of: others, on: devices)
            let before = try installation.receipts().count
            try installation.crowd(many, for: "eve")
            // They come before the drainer starts, and again while it is at work.
            for user in others { try installation.notify([user]) }
            let loud = try installation.waits(of: others, on: devices)
            let pushes = try installation.receipts()[before...].map {
                $0["device"]?.string?.prefix(8)
            }
            let places = pushes.indices.filter { pushes[$0] != noisy.prefix(8) }
            #expect(pushes.count == many + 2 * others.count)
            #expect(places.count == 2 * others.count)
            #expect(places.prefix(others.count).allSatisfy { $0 < 500 }, "\(places)")
            #expect(quiet.count == others.count && loud.count == others.count)
            try row.report(
                "pushes of the one before those that waited with them", before: "-",
                now: "\(places[others.count - 1] - others.count + 1)")
            try row.report(
                "ms that others wait from their 202 on, median and most; without the attack",
                before: "13,000 (300 badge changes on 100 devices)",
                now: "\(loud.median), \(loud.most); \(quiet.median), \(quiet.most)")
        }

        @Test("what is held for a muted user, and released, keeps nobody waiting")
        func mutedUser() throws {
            let count = Length.times(60, few: 15)
            let phones = tokens(1001...1000 + Length.times(50, few: 5), "e")
            let row = AttackRow(
                "\(count) messages of one subject to a muted user with \(phones.count) devices")
            let installation = try Installation(simulator: ["--quiet-journal"])
            try installation.useSystemClock()
            let others = (1...Length.times(20, few: 5)).map { "user-\($0)" }
            let devices = tokens(1...others.count)
            try installation.registerAll(others, tokens: devices)
            for phone in phones { try installation.register(phone, of: "eve") }
            let mute = { (until: JSONValue) in
                let reply = try installation.ask(
                    "PUT", "/api/preferences", by: .user("eve"), ["mutedUntil": until])
                #expect(reply.status == 200)
            }
            try mute("2036-01-01T00:00:00Z")
            let quiet = try installation.waits(of: others, on: devices)
            for _ in 0..<count { try installation.notify(["eve"], ["subject": "game"]) }
            let held = try installation.waits(of: others, on: devices)
            #expect(try installation.ended("held", on: phones) == count * phones.count)
            try mute(.null)
            let released = try installation.waits(of: others, on: devices)
            // A line for the push, and one for the message that it brings.
            #expect(try installation.ended("accepted", on: phones) == 2 * phones.count)
            #expect(try installation.ended("superseded", on: phones) == (count - 1) * phones.count)
            for waits in [quiet, held, released] { #expect(waits.count == others.count) }
            try row.report(
                "ms that others wait while they are held, median and most; without the attack",
                before: "7606.0, 9911.0",
                now: "\(held.median), \(held.most); \(quiet.median), \(quiet.most)")
            try row.report(
                "ms that others wait while they are released, median and most",
                before: "1027.0, 3859.0", now: "\(released.median), \(released.most)")
        }
    }
}

extension Installation {
    /// The milliseconds that one message to each of some users waits, while a drainer works on what was there
    /// before.
    fileprivate func waits(of users: [String], on devices: [String]) throws -> [Double] {
        let before = try receipts().count
        let drainer = try startUnread("deliver", lingering: 1)
        try simulator.perform([
            "do": "wait", "pushes": .integer(Int64(before) + 50), "ms": 300,
        ])
        var sent: [String: Int64] = [:]
        for (user, device) in zip(users, devices) {
            try notify([user])
            sent[String(device.prefix(8))] = Int64(Date.now.timeIntervalSince1970 * 1000)
            usleep(50_000)
        }
        _ = try drainer.end()
        try run("deliver")
        // A device's last receipt is that of the push that was sent here.
        return try receipts()[before...].reversed().compactMap {
            let moment = $0["at"]?.integer ?? 0
            let device = $0["device"]?.string?.prefix(8) ?? ""
            let sent = sent.removeValue(forKey: String(device))
            return sent.map { Double(max(0, moment - $0)) }
        }
    }

    /// How many receipts have an outcome for any of the devices.
    fileprivate func ended(_ outcome: String, on devices: [String]) throws -> Int {
        let devices = Set(devices.map { String($0.prefix(8)) })
        return try receipts(of: outcome).count { devices.contains($0["device"]?.string ?? "") }
    }

    /// Lets so many messages to a user wait: copies of one, under ids as the backend's requests give them.
    fileprivate func crowd(_ count: Int, for user: String) throws {
        let reply = try notify([user])
        let id = try #require(reply.json?.object?["id"]?.string)
        let folder = "spool/apns/ready/normal"
        let bytes = try #require(state.read("\(folder)/\(id).jsonl"))
        let text = String(decoding: bytes, as: UTF8.self)
        for _ in 1..<count {
            // The last two digits are of the user.
            let other = "\(UUID().uuidString.lowercased().dropLast(4))\(id.suffix(4))"
            try state.write(
                text.replacingOccurrences(of: id, with: other), to: "\(folder)/\(other).jsonl")
        }
    }
}
