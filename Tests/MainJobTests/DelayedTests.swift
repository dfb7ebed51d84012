import Foundation
import Glibc
import JSON
import TestSupport
import Testing
import Turnstone
import Unix

/// Messages that reach each user at a moment of the user's own.
@Suite struct DelayedTests {
    private static let zones: [(user: String, zone: String?, hours: Int64)] = [
        ("ann", "America/New_York", 2), ("bob", "Asia/Tokyo", 12), ("cat", "Europe/Berlin", 20),
        ("dan", nil, 21),
    ]

    private func world() throws -> World {
        let world = try World()
        for (number, user) in Self.zones.enumerated() {
            try world.give(user.user, devices: (number + 1)...(number + 1))
            try world.change(user.user) { $0.profile.timeZone = user.zone }
        }
        return world
    }

    private func accepted(_ world: World) throws -> [String] {
        try world.simulator.pushes().filter { $0["accepted"] == true }.compactMap {
            $0["token"]?.string
        }
    }

    /// At 09:00 of each user's clock; it is noon in Greenwich now.
    private static let atNine: JSONObject = [
        "users": ["ann", "bob", "cat", "dan"], "title": "Good morning",
        "delayed_option": "timezone", "delivery_time_of_day": "09:00",
    ]

    @Test func eachUserGetsItAtNineOfTheOwnClock() throws {
        let world = try world()
        var body = Self.atNine
        body["expires_in"] = 600
        let id = try world.sent(body)
        let report = try world.report(id)
        #expect(report["delayedOption"] == "timezone" && report["deliveryTimeOfDay"] == "09:00")
        var elapsed: Int64 = 0
        for (number, user) in Self.zones.enumerated() {
            try world.advance(seconds: user.hours * 3600 - 1 - elapsed)
            try world.run("deliver")
            #expect(try accepted(world).count == number)
            try world.advance(seconds: 1)
            elapsed = user.hours * 3600
            try world.run("deliver")
            #expect(try accepted(world).last == token(number + 1))
            // Its life begins at that moment.
            let headers = try world.simulator.pushes().last?["headers"]?.object
            #expect(headers?["apns-expiration"] == .string("\(world.now / 1000 + 600)"))
            // That a moment has not come leaves no receipts.
            #expect(try world.receipts().count { $0["reason"] == "before its time" } == 0)
        }
        #expect(try world.report(id)["state"] == "done")
        #expect(world.spooled().isEmpty)
    }

    @Test func itCountsWhereAUserIsWhenItIsSent() throws {
        let world = try world()
        let id = try world.sent(Self.atNine)
        try world.run("deliver")
        try world.change("cat") { $0.profile.timeZone = "America/New_York" }
        try world.advance(seconds: 7200)
        try world.run("deliver")
        #expect(try accepted(world) == [token(1), token(3)])
        // What has not gone out is cancelled.
        #expect(try world.callOff(id).status == 200)
        #expect(try world.report(id)["counts"] == ["accepted": 2, "cancelled": 2])
        #expect(world.spooled().isEmpty)
    }

    @Test func itIsNotLateForAUserWhoMovesToWhereItsMomentIsSooner() throws {
        let world = try world()
        var body = Self.atNine
        body["users"] = ["cat"]
        _ = try world.sent(body)
        try world.run("deliver")
        try world.change("cat") { $0.profile.timeZone = "America/New_York" }
        try world.advance(seconds: 7199)
        try world.run("deliver")
        #expect(try accepted(world).isEmpty)
        try world.advance(seconds: 1)
        try world.run("deliver")
        #expect(try accepted(world) == [token(3)])
        #expect(try world.receipts().count { $0["reason"] == "before its time" } == 0)
    }

    @Test func itIsNotEarlierThanSendAfterAndExpiresAfterItsMoment() throws {
        let world = try world()
        var body = Self.atNine
        body["send_after"] = .integer(world.now / 1000 + 3 * 3600)
        body["expires_in"] = 60
        let id = try world.sent(body)
        try world.advance(seconds: 2 * 3600)
        try world.run("deliver")
        #expect(try accepted(world).isEmpty)
        // Nobody delivers when it is nine for bob.
        try world.advance(seconds: 10 * 3600 + 61)
        try world.run("deliver")
        #expect(try world.report(id)["counts"] == ["expired": 1, "waiting": 3])
        try world.advance(seconds: 14 * 3600 - 61)
        try world.run("deliver")
        #expect(try accepted(world) == [token(1)])
    }

    @Test func quietHoursAtThatMomentHoldIt() throws {
        let world = try world()
        try world.change("ann") {
            $0.preferences.mutedUntil = Timestamp(milliseconds: world.now) + .hours(3)
        }
        let id = try world.sent(Self.atNine)
        try world.run("deliver")
        try world.advance(seconds: 7200)
        try world.run("deliver")
        #expect(try world.report(id)["counts"] == ["held": 1, "waiting": 3])
        try world.advance(seconds: 3600)
        for _ in 0..<2 { try world.run("deliver") }
        #expect(try accepted(world) == [token(1)])
    }

    @Test func theLastActiveHourComesAgain() throws {
        let world = try world()
        // At 18:30 in New York yesterday, at noon in Berlin; nothing is known of the others.
        try world.change("ann") {
            $0.profile.lastSession = Timestamp(milliseconds: world.now) - .minutes(750)
        }
        try world.change("cat") {
            $0.profile.lastSession = Timestamp(milliseconds: world.now) - .hours(25)
        }
        var body = Self.atNine
        body["delayed_option"] = "last-active"
        body["delivery_time_of_day"] = nil
        _ = try world.sent(body)
        try world.run("deliver")
        #expect(try Set(accepted(world)) == [token(2), token(4)])
        try world.advance(seconds: 11 * 3600)
        try world.run("deliver")
        #expect(try accepted(world).last == token(1))
        try world.advance(seconds: 12 * 3600)
        try world.run("deliver")
        #expect(try accepted(world).last == token(3))
        #expect(world.spooled().isEmpty)
    }

    @Test("a message that was accepted while the clock was ahead does not wait for that moment")
    func clockAhead() throws {
        let world = try world()
        try world.advance(seconds: 72 * 3600)
        var body = Self.atNine
        body["delayed_option"] = "last-active"
        body["delivery_time_of_day"] = nil
        _ = try world.sent(body)
        try world.advance(seconds: -72 * 3600)
        for _ in 0..<2 {
            try world.run("deliver")
            try world.advance(seconds: 1200)
        }
        #expect(try Set(accepted(world)) == [token(1), token(2), token(3), token(4)])
    }

    @Test("nor does one for a time of day, which comes on the next day at the latest")
    func clockAheadOfTheTimeOfDay() throws {
        let world = try world()
        try world.advance(seconds: 72 * 3600)
        _ = try world.sent(Self.atNine)
        try world.advance(seconds: -72 * 3600)
        for _ in 0..<73 {
            try world.run("deliver")
            try world.advance(seconds: 1200)
        }
        #expect(try Set(accepted(world)) == [token(1), token(2), token(3), token(4)])
        #expect(try accepted(world).count == 4)
    }

    // MARK: Everything at once

    private struct Person {
        let name: String
        let zone: String
        var language: String?
        let session: Timestamp?
        let number: Int
    }

    private struct Sent {
        let id: String
        let accepted: Int64
        let users: [Int]
        let title: String
        let texts: [String: String]
        let minute: Int?
        let isLastActive: Bool
        let throttle: Int64?
        let life: Int64
    }

    private func clock(_ milliseconds: Int64, _ zone: String) -> Int {
        let date = Date(timeIntervalSince1970: Double(milliseconds / 1000))
        let offset = TimeZone(identifier: zone)?.secondsFromGMT(for: date) ?? 0
        return (Int(milliseconds / 1000) + offset) % 86_400 / 60
    }

    /// The moment at which a person should get a message, minute by minute.
    private func moment(_ sent: Sent, _ person: Person) -> Int64 {
        var moment = sent.accepted
        if let minute = sent.minute {
            while clock(moment, person.zone) != minute { moment = (moment / 60_000 + 1) * 60_000 }
        } else if sent.isLastActive, let session = person.session {
            let hour = clock(session.milliseconds, person.zone) / 60
            while clock(moment, person.zone) / 60 != hour {
                moment = (moment / 60_000 + 1) * 60_000
            }
        }
        return moment
    }

    /// The text that a person should read.
    private func text(_ sent: Sent, _ person: Person) -> String {
        let language = person.language ?? "en"
        let short = String(language.prefix(2))
        return sent.texts[language] ?? sent.texts[short]
            ?? sent.texts.first { $0.key.hasPrefix("\(short)-") }?.value ?? sent.texts["en"] ?? ""
    }

    /// Drainers are killed at random, and each person gets each message once, in the own language, not before
    /// the own moment and not after it has expired, and of no message more than allowed within a minute.
    @Test func nobodyGetsAnythingTooEarlyTooOftenOrInAnotherLanguage() throws {
        let seed = UInt64.random(in: 0...99_999)
        var dice = Dice(seed: seed)
        let note: Comment = "seed \(seed)"
        func pick<Element>(_ elements: [Element]) -> Element {
            elements[Int(dice.next(below: UInt64(elements.count)))]
        }
        let world = try World()
        var people: [Person] = []
        for number in 1...8 {
            let person = Person(
                name: "user\(number)",
                zone: pick([
                    "Europe/Berlin", "Asia/Tokyo", "America/St_Johns", "UTC", "Asia/Kathmandu",
                ]),
                language: pick(["de", "de-AT", "pt-BR", "ja", "en", nil]),
                session: pick([
                    nil,
                    Timestamp(milliseconds: world.now) - .minutes(Int64(dice.next(below: 9000))),
                ]), number: number)
            people.append(person)
            try world.give(person.name, devices: number...number)
            try world.change(person.name) {
                $0.profile.timeZone = person.zone
                $0.profile.language = person.language.flatMap { LanguageTag($0) }
                $0.profile.lastSession = person.session
            }
        }
        var messages: [Sent] = []
        var arrivals: [(moment: Int64, push: JSONObject)] = []
        var kills = 0
        for step in 0..<40 {
            if step < 8 {
                let users = people.indices.filter { _ in dice.next(below: 3) > 0 } + []
                let name = "m\(step)"
                let texts = ["en": "\(name) en", "de": "\(name) de", "pt-PT": "\(name) pt"]
                let kind = dice.next(below: 3)
                let minute = kind == 0 ? Int(dice.next(below: 48)) * 30 : nil
                let throttle: Int64? = dice.next(below: 2) == 0 ? pick([1, 2, 5]) : nil
                let life: Int64 = pick([900, 7200, 86_400])
                var body: JSONObject = [
                    "users": .array(users.map { .string(people[$0].name) }),
                    "title": [
                        "en": .string("\(name) en"), "de": .string("\(name) de"),
                        "pt-PT": .string("\(name) pt"),
                    ], "expires_in": .integer(life),
                ]
                body["throttle_per_minute"] = throttle.map { .integer($0) }
                if kind == 1 { body["delayed_option"] = "last-active" }
                if let minute {
                    body["delayed_option"] = "timezone"
                    let time = String(format: "%02d:%02d", minute / 60, minute % 60)
                    body["delivery_time_of_day"] = .string(time)
                }
                messages.append(
                    Sent(
                        id: try world.sent(body), accepted: world.now, users: users, title: name,
                        texts: texts, minute: minute, isLastActive: kind == 1, throttle: throttle,
                        life: life * 1000))
            }
            let drainer = try world.start("deliver")
            if dice.next(below: 3) == 0 {
                usleep(UInt32(1000 + dice.next(below: 50_000)))
                drainer.send(SIGKILL)
                kills += 1
            }
            _ = try drainer.end()
            let pushes = try world.simulator.pushes().filter { $0["accepted"] == true }
            for push in pushes.dropFirst(arrivals.count) { arrivals.append((world.now, push)) }
            // Most steps are short; some pass the night.
            let pause: Int64 =
                dice.next(below: 3) == 0 ? 1800 + 600 * Int64(dice.next(below: 12)) : 20
            try world.advance(seconds: pause)
        }
        #expect(kills > 0, note)
        let ids = Set(arrivals.compactMap { $0.push["apns_id"]?.string })
        let tokens = Dictionary(uniqueKeysWithValues: people.map { (token($0.number), $0) })
        var seen: Set<String> = []
        for (arrival, push) in arrivals {
            let alert = push["payload"]?.object?["aps"]?.object?["alert"]?.object
            let title = alert?["title"]?.string ?? ""
            guard let person = tokens[push["token"]?.string ?? ""],
                let sent = messages.first(where: { title.hasPrefix("\($0.title) ") })
            else {
                Issue.record("an unknown push, seed \(seed): \(push)")
                continue
            }
            #expect(sent.users.contains(person.number - 1), note)
            #expect(title == text(sent, person), "\(person.language ?? "-"), seed \(seed)")
            let moment = moment(sent, person)
            #expect(arrival >= moment, note)
            #expect(arrival < moment + sent.life, note)
            seen.insert("\(sent.title) \(person.name)")
        }
        // A killed drainer's push may come twice, under the same id.
        #expect(ids.count == seen.count, note)
        for sent in messages {
            guard let throttle = sent.throttle else { continue }
            let moments = arrivals.filter {
                $0.push["payload"]?.object?["aps"]?.object?["alert"]?.object?["title"]?.string?
                    .hasPrefix("\(sent.title) ") == true
            }.map(\.moment)
            for moment in moments {
                let count = moments.count { $0 > moment - 60_000 && $0 <= moment }
                #expect(count <= throttle, "\(sent.title), seed \(seed)")
            }
        }
        // Whoever got nothing has a reason.
        for sent in messages {
            let report = try world.report(sent.id)
            for device in report["devices"]?.array?.compactMap(\.object) ?? []
            where device["state"] != "accepted" {
                let state = device["state"]?.string ?? ""
                #expect(["expired", "waiting"].contains(state), "\(state), seed \(seed)")
                guard state == "expired",
                    let person = people.first(where: { $0.name == device["user"]?.string })
                else { continue }
                #expect(world.now >= moment(sent, person) + sent.life, note)
            }
        }
    }
}
