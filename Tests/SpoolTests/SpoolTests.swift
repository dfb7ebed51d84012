import Foundation
import TestSupport
import Testing
import Turnstone
import Unix

@testable import Spool

@Suite struct SpoolTests {
    let scratch = Scratch()
    let now = Scratch.now
    private var spool: Spool { scratch.spool }
    private var spools: Spools { scratch.spools }

    private func accept(_ ids: String...) throws {
        for id in ids { try spools.accept(Scratch.notification(id), to: Scratch.devices) }
    }

    @Test("an accepted notification is found and taken unchanged")
    func found() throws {
        #expect(try spool.find("n1") == nil)
        try spools.accept(Scratch.full(), to: Scratch.devices)
        #expect(try spool.find("n1") == Scratch.full())
        let file = try #require(try scratch.intake().next(in: .normal))
        #expect(file.notification == Scratch.full())
        let devices = try file.rest()
        #expect(devices.map(\.number) == [0, 1])
        #expect(devices.map(\.token) == Scratch.tokens)
        #expect(devices[1].environment == .production && devices[1].badge == 5)
        #expect(devices[1].isProven && !devices[0].isProven)
        #expect(devices.map { file.user(of: $0)?.text } == ["42", "43"])
        #expect(file.isExhausted)
    }

    @Test("what is different for single services is stored too, and may be missing")
    func overrides() throws {
        var notification = Scratch.notification()
        notification.push.overrides = PushOverrides(
            apns: ["aps": ["sound": .null], "own": 1],
            android: ["notification": ["color": "#aabbcc"]], web: [:])
        try scratch.spools.accept(notification, to: Scratch.devices)
        #expect(try scratch.spools.find("n1") == notification)
        let push = try scratch.lines("spool/apns/ready/normal/n1.jsonl")[0]["push"]?.object
        #expect(push?["apns"] == ["aps": ["sound": .null], "own": 1])
        #expect(push?["android"] == ["notification": ["color": "#aabbcc"]])
        #expect(push?["web"] == [:])
        // As earlier versions wrote it.
        try scratch.spools.accept(Scratch.notification("n2"), to: Scratch.devices)
        let old = try scratch.lines("spool/apns/ready/normal/n2.jsonl")[0]["push"]?.object
        #expect(old?["apns"] == nil && old?["android"] == nil && old?["web"] == nil)
        #expect(try scratch.spools.find("n2")?.push.overrides.isEmpty == true)
    }

    @Test("a channel is stored instead of devices, and named in the receipt")
    func channel() throws {
        let channel = try #require(ChannelID("++//AAAB/w=="))
        let delivery = Delivery(channel: channel, environment: .production)
        try spools.accept(Scratch.notification(), to: [delivery])
        #expect(try spool.contains("n1"))
        let intake = try scratch.intake()
        let file = try #require(try intake.next(in: .normal))
        #expect(try file.rest() == [delivery])
        intake.log.append(Scratch.accepted(), of: delivery, in: file)
        try intake.log.commit()
        intake.finish(file, at: now)
        #expect(try !spool.contains("n1"))
        let line = try #require(try scratch.lines("receipts/2026-11-21.apns.0.jsonl").first)
        #expect(line["channel"] == "++//AAAB/w==" && line["device"] == nil)
    }

    @Test("accepting an id again replaces the file, even one that a killed program left")
    func again() throws {
        try scratch.folder.write("half of", to: "spool/apns/ready/normal/n1.jsonl.new")
        try accept("n1", "n1")
        #expect(scratch.files == ["spool/apns/ready/normal/n1.jsonl"])
    }

    @Test(
        "the lane depends on the content and on the number of devices",
        arguments: [
            ([:], .alert, 1, "normal"), ([:], .alert, 100, "normal"), ([:], .alert, 101, "bulk"),
            (["interruption-level": "time-sensitive"], .alert, 2, "urgent"),
            (["interruption-level": "critical"], .alert, 2, "urgent"),
            (["interruption-level": "active"], .alert, 2, "normal"),
            (["interruption-level": "critical"], .alert, 101, "bulk"),
            (["event": "end"], .liveActivity, 1, "urgent"),
            (["event": "update"], .liveActivity, 1, "normal"),
            (["event": "end"], .alert, 1, "normal"),
        ] as [(JSONObject, PushType, Int, String)])
    func lanes(aps: JSONObject, type: PushType, count: Int, lane: String) throws {
        var notification = Scratch.notification(aps: aps)
        notification.push.type = type
        try spools.accept(
            notification, to: repeatElement(Scratch.devices[0], count: count))
        #expect(scratch.files == ["spool/apns/ready/\(lane)/n1.jsonl"])
    }

    @Test("a notification to many devices is read piece by piece, without missing any")
    func bulk() throws {
        let count = 3000
        try spools.accept(
            Scratch.notification(),
            to: (0..<count).lazy.map { number in
                Delivery(token: DeviceToken(String(10_000_000 + number))!, environment: nil)
            })
        let file = try #require(try scratch.intake().next(in: .bulk))
        #expect(try file.rest().map(\.number) == Array(0..<count))
    }

    @Test("a device put off waits in the moment's folder, with one failure more if it failed")
    func putOff() throws {
        try accept("n1")
        let intake = try scratch.intake()
        let file = try #require(try intake.next(in: .normal))
        let devices = try file.rest()
        intake.log.append(Scratch.accepted(), of: devices[0], in: file)
        intake.log.append(
            Attempt(at: now, pushID: nil, outcome: nil, kind: .brief), of: devices[1], in: file)
        let moment = Spool.moment(
            for: now + .milliseconds(4300), now: now, expires: file.notification.expires)
        intake.endPass(file, until: moment)
        try intake.log.commit()
        try intake.putOff(file, until: moment)
        #expect(
            scratch.files.filter { $0.hasPrefix("spool/") } == [
                "spool/apns/waiting/1795262405000-1795262400000/n1.jsonl"
            ])
        #expect(try spool.find("n1") == Scratch.notification())
        #expect(try !spool.hasWork(at: now + .seconds(4)) && spool.hasWork(at: now + .seconds(5)))
        #expect(try spool.nextDue(at: now) == now + .seconds(5))
        #expect(try intake.allDue(at: now + .seconds(4)).isEmpty)
        let due = try #require(try intake.allDue(at: now + .seconds(5)).first)
        #expect(due.pass == 2 && due.isReached)
        let rest = try due.rest()
        #expect(rest.map(\.number) == [1])
        #expect(rest[0].failures(after: .brief).count == 2)
        #expect(rest[0].failures(after: .lasting).count == 1)
        intake.log.append(Scratch.accepted(.gone), of: rest[0], in: due)
        try intake.log.commit()
        intake.finish(due, at: now)
        #expect(try !spool.hasWork(at: now + .days(1)) && spool.nextDue(at: now) == nil)
        #expect(
            try !Files.exists(
                "\(scratch.folder.path)/spool/apns/waiting/1795262405000-1795262400000"))
    }

    @Test(
        "few folders serve many moments, and no notification expires while it waits in one",
        arguments: [
            (1, 3_600_000, 1000), (1000, 3_600_000, 1000), (1001, 3_600_000, 2000),
            (600_000, 3_600_000, 600_000), (600_001, 3_600_000, 660_000),
            (600_001, 1_200_001, 601_000), (600_001, 1_200_002, 660_000),
            (3_605_000, 3_606_000, 3_605_000), (3_605_100, 3_605_500, 3_605_100),
        ] as [(Int64, Int64, Int64)])
    func moments(requested: Int64, expires: Int64, moment: Int64) {
        let found = Spool.moment(
            for: now + .milliseconds(requested), now: now, expires: now + .milliseconds(expires))
        #expect(found == now + .milliseconds(moment))
    }

    @Test("a file that a killed program never accepted is not work, and is removed after a day")
    func abandoned() throws {
        let paths = [
            "spool/apns/waiting/1795262400000/a.jsonl.new",
            "spool/apns/waiting/1795262400000-1795262400000/b.jsonl.new",
            "spool/apns/ready/normal/c.jsonl.new",
        ]
        for path in paths { try scratch.folder.write(Array("half a li".utf8), to: path) }
        try Files.makeFolder("\(scratch.folder.path)/spool/apns/waiting/1795262401000")
        let later = now + .hours(1)
        #expect(try !spool.hasWork(at: later) && spool.nextDue(at: later) == nil)
        #expect(try spool.oldestDue(at: later) == nil)
        func pass() throws {
            let intake = try scratch.intake()
            #expect(try intake.allDue(at: later).isEmpty && intake.all(in: .normal).isEmpty)
        }
        try pass()
        #expect(scratch.files.filter { $0.hasSuffix(".new") }.count == 3)
        for path in paths { try scratch.folder.age("\(path)", hours: 26) }
        try pass()
        #expect(scratch.files.filter { $0.hasSuffix(".new") }.isEmpty)
        try pass()
        #expect(try Files.names(in: "\(scratch.folder.path)/spool/apns/waiting").isEmpty)
    }

    @Test("a lane is listed again and again, without notifications in hand")
    func taken() throws {
        try accept("a", "b", "c")
        let intake = try scratch.intake()
        let first = try intake.all(in: .normal)
        #expect(Set(first.map(\.notification.id)) == ["a", "b", "c"])
        try accept("d")
        #expect(try intake.all(in: .normal).map(\.notification.id) == ["d"])
        intake.leave(first[0])
        #expect(
            try intake.all(in: .normal).map(\.notification.id) == [first[0].notification.id])
    }

    @Test("many notifications that wait for one moment are taken one by one")
    func manyDue() throws {
        let intake = try scratch.intake()
        for number in 0..<50 { try accept("n\(number)") }
        for file in try intake.all(in: .normal) {
            _ = try file.rest()
            try intake.putOff(file, until: now + .seconds(Int64(file.notification.id.count)))
        }
        var ids: Set<String> = []
        for file in try intake.allDue(at: now + .minutes(1)) {
            ids.insert(file.notification.id)
            intake.finish(file, at: now)
        }
        #expect(ids.count == 50)
        #expect(try spool.nextDue(at: now) == nil)
    }

    @Test("one drainer is elected at a time")
    func election() throws {
        let first = try spool.election()
        #expect(first != nil)
        #expect(try Spool(state: scratch.folder.path, .apns).election() == nil)
        first?.end()
        #expect(try Spool(state: scratch.folder.path, .apns).election() != nil)
    }

    @Test("a drainer without a sign of life is stuck, one that has ended is not")
    func stuck() throws {
        let election = try #require(try spool.election())
        #expect(try spool.stuckDrainer(at: now) == nil, "it has not begun")
        try election.beat(at: now)
        #expect(try spool.stuckDrainer(at: now + .seconds(60)) == nil)
        let stuck = try #require(try spool.stuckDrainer(at: now + .seconds(61)))
        #expect(stuck.since == now && stuck.process == Int(ThisProcess.id))
        try election.beat(at: now + .minutes(5))
        #expect(try spool.stuckDrainer(at: now + .minutes(6)) == nil)
        // The clock was set back.
        try election.beat(at: now)
        #expect(try spool.stuckDrainer(at: now + .seconds(9)) == nil)
        election.end()
        let sign = try #require(try spool.sign())
        #expect(sign.hasEnded && sign.term == 1 && sign.beat == nil)
        #expect(try spool.stuckDrainer(at: now + .hours(1)) == nil)
        #expect(try spool.election() != nil, "the check takes the lock from nobody")
    }

    @Test("a killed drainer's sign of life does not make it stuck, however many check at once")
    func oldSign() async throws {
        let spool = spool
        let now = now
        try scratch.folder.write(
            #"{"pid": 1, "beat": \#(now.milliseconds)}"#, to: "spool/apns/drainer.lock")
        let found = try await withThrowingTaskGroup(of: Int.self) { group in
            for _ in 0..<4 {
                group.addTask {
                    try (0..<500).count { _ in try spool.stuckDrainer(at: now + .hours(1)) != nil }
                }
            }
            return try await group.reduce(0, +)
        }
        #expect(found == 0)
    }

    @Test("a program starts the drainer unless something else does")
    func startDrainer() throws {
        var variables = Variables()
        variables.offer("TURNSTONE_DELIVER", "external")
        #expect(spools.startDrainer(variables) { Issue.record("\($0)") } == nil)
        variables = Variables()
        variables.offer("TURNSTONE_DELIVER", "never")
        var faults: [Failure] = []
        #expect(spools.startDrainer(variables) { faults.append($0) } == nil)
        let sentence = "unable to use TURNSTONE_DELIVER (environment): must be spawn or external"
        #expect(faults == [.misconfigured(sentence)])
    }

    @Test(
        "a notification that no push service can accept is damaged",
        arguments: [
            (#""push_type":"alert""#, #""push_type":"shout""#), (#""aps":"#, #""apz":"#),
        ])
    func unusablePush(part: String, damaged: String) throws {
        try spools.accept(Scratch.notification(), to: Scratch.devices)
        let name = "spool/apns/ready/normal/n1.jsonl"
        let text = String(decoding: try #require(scratch.folder.read(name)), as: UTF8.self)
        try #require(text.contains(part))
        try scratch.folder.write(text.replacing(part, with: damaged), to: name)
        let failure = #expect(throws: Failure.self) {
            try SpoolFile.open("\(scratch.folder.path)/\(name)")
        }
        #expect(failure?.cause == FailureCause.corrupt)
    }
}
