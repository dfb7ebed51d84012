import Foundation
import JSON
import TestSupport
import Testing
import Turnstone

extension Attacks {
    /// One user's registrations, and their effect on everybody else's registrations and files.
    @Suite struct RegistrationAttacks {
        @Test(
            "a user has so many devices, Live Activities and keys and no more", arguments: Door.all)
        func quotas(door: Door) throws {
            let installation = try Installation(
                door, ["CALLER_REQUESTS_PER_MINUTE": "0", "NEW_TOKENS_PER_HOUR": "0"])
            // By events all of them; through nginx what shows that it is the same.
            let isAll = Length.isLong && door == .events
            let counts = isAll ? (3001, 100, 100) : (55, 25, 25)
            let row = AttackRow(
                "\(counts.0) tokens, \(counts.1) Live Activity tokens and \(counts.2) keys with one user",
                through: door)
            var times: [Double] = []
            var refused: [Int] = []
            func attempt(_ count: Int, _ work: (Int) throws -> Installation.Reply) throws -> Int {
                var statuses: [Int] = []
                for number in 0..<count {
                    try times.append(milliseconds { statuses.append(try work(number).status) })
                }
                refused.append(statuses.count { $0 == 409 })
                #expect(statuses.allSatisfy { [200, 409].contains($0) })
                return statuses.count { $0 == 200 }
            }
            let devices = tokens(1...counts.0)
            let taken = try attempt(counts.0) { try installation.register(devices[$0], of: "7") }
            let bystander = tokens(1...10, "b")
            let first = Array(times.prefix(10))
            times = []
            _ = try attempt(10) { try installation.register(bystander[$0], of: "user-\($0)") }
            let last = times
            refused.removeLast()
            let activities = tokens(1...counts.1, "a")
            let listening = try attempt(counts.1) {
                try installation.registerActivity(
                    activities[$0], "activity-\($0)", session: "s", of: "7")
            }
            let keys = try attempt(counts.2) { _ in try installation.makeKey(of: "7") }
            // Renewals are no more than there were.
            #expect(try installation.register(devices[0], of: "7").status == 200)
            #expect(taken == 50 && listening == 20 && keys == 20)
            #expect(refused == [counts.0 - 50, counts.1 - 20, counts.2 - 20])
            try row.report(
                "taken", before: "3,001 tokens", now: "\(taken), \(listening) and \(keys)")
            try row.report(
                "refused with 409", before: "0",
                now: refused.map(String.init).joined(separator: ", "))
            try row.report(
                "ms of a registration before and after them", before: "2, 67",
                now: "\(first.median), \(last.median)")
        }

        @Test("ids that nobody needs any more leave no files")
        func newNames() throws {
            let count = Length.times(600, few: 25)
            let row = AttackRow("\(count) new activity and session ids of one user, twice")
            let installation = try Installation()
            let before = installation.indices()
            let activities = tokens(1...count, "a")
            /// As fast as the caller may.
            func ask(_ work: () throws -> Installation.Reply) throws -> Int {
                while true {
                    let status = try work().status
                    if status != 429 { return status }
                    try installation.advance(seconds: 60)
                }
            }
            var statuses: [Int] = []
            for (number, token) in activities.enumerated() {
                statuses.append(
                    try ask {
                        try installation.registerActivity(
                            token, "a-\(number)", session: "s-\(number)", of: "eve")
                    })
            }
            let refused = statuses.count { $0 == 409 }
            #expect(refused == count - 20)
            // A second time each makes room for the next one.
            func invalidate(_ token: String) throws {
                let status = try ask {
                    try installation.ask(
                        "DELETE", "/api/push/invalidate", by: .user("eve"),
                        ["token": .string(token)])
                }
                #expect(status == 200)
            }
            for (token, status) in zip(activities, statuses) where status == 200 {
                try invalidate(token)
            }
            for (number, token) in activities.enumerated() {
                let status = try ask {
                    try installation.registerActivity(
                        token, "b-\(number)", session: "t-\(number)", of: "eve")
                }
                #expect(status == 200)
                try invalidate(token)
            }
            let left = installation.indices().subtracting(before)
            let runs = try installation.sweep(left, after: 2)
            let early = installation.indices().subtracting(before)
            // That somebody had a token counts as long as there may be messages to it.
            #expect(early.allSatisfy { $0.hasPrefix("tokens/") }, "\(early.sorted().suffix(5))")
            _ = try installation.sweep(early, after: 62)
            let late = installation.indices().subtracting(before)
            #expect(late.isEmpty, "\(late.sorted().prefix(5))")
            try row.report(
                "refused with 409 of the first ones", before: "0", now: refused.of(count))
            try row.report(
                "files of \(2 * count) registrations", before: "4 for each",
                now: "\(left.count)")
            try row.report(
                "files left after 2 and 62 days, each with \(runs) runs of check-turns",
                before: "all, for ever", now: "\(early.count), \(late.count)")
        }

        @Test("an activity's name is of whoever registered it first", arguments: Door.all)
        func takenActivity(door: Door) throws {
            let strangers = Length.times(50, few: 8)
            let row = AttackRow(
                "\(strangers) strangers' tokens under somebody's activityId", through: door)
            let installation = try Installation(door)
            let own = tokens(1...1, "a")[0]
            #expect(try installation.registerActivity(own, "build-7", of: "ann").status == 200)
            let others = tokens(1...strangers, "e")
            let statuses = try others.enumerated().map { number, token in
                try installation.registerActivity(token, "build-7", of: "eve-\(number)").status
            }
            let reply = try installation.ask(
                "POST", "/api/push/live-activity", by: .backend,
                ["activityId": "build-7", "contentState": ["step": 1]])
            #expect(reply.status == 202)
            try installation.run("deliver")
            let refused = statuses.count { $0 == 409 }
            let reached = try installation.accepted(others)
            #expect(refused == strangers)
            #expect(reached == 0)
            #expect(try installation.accepted([own]) == 1)
            try row.report("refused with 409", before: "-", now: refused.of(strangers))
            try row.report(
                "strangers' tokens that got the owner's state", before: "-", now: "\(reached)")
        }

        @Test("users whose ids look the same have phones of their own", arguments: Door.all)
        func composedNames(door: Door) throws {
            let row = AttackRow(
                "josé in both forms of Unicode, who swap their phones", through: door)
            let installation = try Installation(door)
            let names = ["jos\u{e9}", "jose\u{301}"]
            let phones = tokens(1...2)
            try installation.registerAll(names, tokens: phones)
            try installation.registerAll(names, tokens: phones.reversed())
            for (number, name) in names.enumerated() {
                try installation.notify([name], ["title": .string("for \(number)")])
            }
            try installation.run("deliver")
            var shown: [[String]] = [[], []]
            for push in try installation.accepted() {
                let alert = push["payload"]?.object?["aps"]?.object?["alert"]?.object
                if let phone = phones.firstIndex(of: push["token"]?.string ?? "") {
                    shown[phone].append(alert?["title"]?.string ?? "")
                }
            }
            // The first phone is now the second one's.
            let foreign =
                shown[0].count { $0 != "for 1" } + shown[1].count { $0 != "for 0" }
            #expect(shown == [["for 1"], ["for 0"]])
            try row.report(
                "messages on the phone of the other", before: "each kept the other's phone",
                now: "\(foreign)")
        }
    }
}

extension Installation {
    private static let swept = ["tokens", "activities", "sessions", "keys"]

    /// The files in which others look something up: by their paths.
    fileprivate func indices() -> Set<String> {
        Set(state.files().keys.filter { name in Self.swept.contains { name.hasPrefix("\($0)/") } })
    }

    /// The half minutes after which a folder has its turn again: a prime number.
    private static let turns: Int64 = 1031

    /// Lets days go by, and check-turns run so often that each folder with one of the files has its turn, or
    /// in a long test all folders.
    ///
    /// - Returns: how many runs these were.
    fileprivate func sweep(_ files: Set<String>, after days: Int64) throws -> Int {
        for file in files { try state.age(file, hours: Double(days * 24 + 1)) }
        try advance(seconds: days * 86_400)
        let turns = Length.isLong ? Set(0..<Self.turns) : Set(files.compactMap(turn))
        var runs = 0
        for _ in 0..<Self.turns {
            if turns.contains(trial.now / 30_000 % Self.turns) {
                try run("check-turns")
                runs += 1
            }
            try trial.advance(seconds: 30)
        }
        return runs
    }

    /// When the folder of a file is swept.
    private func turn(_ file: String) -> Int64? {
        let parts = file.split(separator: "/")
        guard parts.count == 3, let shelf = Self.swept.firstIndex(of: String(parts[0])),
            let shard = Int64(parts[1], radix: 16)
        else { return nil }
        return shard * Int64(Self.swept.count) + Int64(shelf)
    }
}
