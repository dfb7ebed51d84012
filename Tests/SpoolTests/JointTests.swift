import Foundation
import TestSupport
import Testing
import Turnstone
import Unix

@testable import Spool

/// Notifications for devices of several push services.
@Suite struct JointTests {
    private let scratch = Scratch()
    private let now = Scratch.now
    private let joint = "spool/joint/n1.json"
    private let parts = [
        "spool/apns/ready/normal/n1.jsonl", "spool/fcm/ready/normal/n1.jsonl",
        "spool/web/ready/normal/n1.jsonl",
    ]

    private func devices(_ count: Int = 2, of service: PushService) -> [Delivery] {
        (0..<count).map { number in
            let text =
                switch service {
                case .apns: "ab\(100_000 + number)"
                case .fcm: "fcm:\"\(number)\""
                case .web: browserToken(number)
                }
            return Delivery(
                token: DeviceToken(text, of: service)!, of: service, environment: nil,
                user: UserID("ann")!)
        }
    }

    private func prepare() throws -> PreparedNotification {
        var source = ListedDeliveries(
            rest: (devices(of: .web) + devices(of: .apns) + devices(of: .fcm)).makeIterator())
        return try scratch.spools.prepare(Scratch.notification(), to: &source)
    }

    /// The numbers of the devices in each service's part.
    private func numbers() throws -> [[Int]] {
        try PushService.all.map { service in
            let spool = scratch.spools.spool(of: service)
            let path = try #require(try spool.path(of: "n1"))
            return try #require(try SpoolFile.open(path)).rest().map(\.number)
        }
    }

    @Test("each service gets the part with its devices, whose numbers are unique")
    func unique() throws {
        var prepared = try prepare()
        #expect(prepared.devices == 6 && prepared.folder == "joint")
        try prepared.makeFindable()
        #expect(scratch.files == (parts + [joint]).map { $0 + ".new" }.sorted())
        #expect(try !scratch.spools.contains("n1"))
        try prepared.accept()
        #expect(scratch.files == parts)
        #expect(try numbers() == [[2, 3], [4, 5], [0, 1]])
    }

    @Test("the lane of a part depends on its devices")
    func lanes() throws {
        try scratch.spools.accept(
            Scratch.notification(), to: devices(101, of: .fcm) + devices(of: .apns))
        #expect(scratch.files == [parts[0], "spool/fcm/ready/bulk/n1.jsonl"])
    }

    @Test("a part without a name is found once the whole is accepted", arguments: 0...3)
    func interrupted(renamed: Int) throws {
        var prepared = try prepare()
        try prepared.makeFindable()
        // All that a killed program has done.
        try Files.commit("\(scratch.folder.path)/\(joint)")
        for part in parts.prefix(renamed) { try Files.commit("\(scratch.folder.path)/\(part)") }
        if renamed == 0 {
            #expect(try scratch.spools.hasWork(at: now))
            #expect(try scratch.spools.find("n1") == Scratch.notification())
        } else {
            scratch.spools.completeJoints { Issue.record("\($0.sentence)") }
        }
        #expect(scratch.files == parts)
        #expect(try numbers() == [[2, 3], [4, 5], [0, 1]])
    }

    @Test("parts of which none was accepted are not found")
    func unaccepted() throws {
        var prepared = try prepare()
        try prepared.makeFindable()
        scratch.spools.completeJoints { Issue.record("\($0.sentence)") }
        #expect(try !scratch.spools.contains("n1") && !scratch.spools.hasWork(at: now))
        #expect(scratch.files.allSatisfy { $0.hasSuffix(".new") })
        // As a repeated request does.
        try scratch.spools.complete("n1", in: "joint")
        #expect(scratch.files == parts)
        try scratch.spools.complete("n1", in: "joint")
        #expect(scratch.files == parts)
    }

    @Test("a damaged file that accepts parts accepts them", arguments: ["", "{", "{}"])
    func damaged(text: String) throws {
        var prepared = try prepare()
        try prepared.makeFindable()
        try scratch.folder.remove("\(joint).new")
        try scratch.folder.write(text, to: joint)
        scratch.spools.completeJoints { Issue.record("\($0.sentence)") }
        #expect(scratch.files == parts)
    }

    @Test("its parts stay until they have their names, however old they are")
    func swept() throws {
        var prepared = try prepare()
        try prepared.makeFindable()
        try Files.commit("\(scratch.folder.path)/\(joint)")
        let old = Date(timeIntervalSinceNow: -26 * 3600)
        for name in scratch.files {
            try FileManager.default.setAttributes(
                [.modificationDate: old], ofItemAtPath: "\(scratch.folder.path)/\(name)")
        }
        for turn in 0..<257 {
            try scratch.spools.sweep(at: now + .seconds(30 * Int64(turn))) {
                Issue.record("\($0.sentence)")
            }
        }
        #expect(scratch.files == parts)
    }

    @Test("one that cannot be read is reported, counts as overdue, and holds up no other")
    func unreadable() throws {
        var prepared = try prepare()
        try prepared.makeFindable()
        try Files.commit("\(scratch.folder.path)/\(joint)")
        try Files.makeFolder("\(scratch.folder.path)/spool/joint/bad.json")
        var faults: [Failure] = []
        scratch.spools.completeJoints { faults.append($0) }
        #expect(faults.map(\.file) == ["\(scratch.folder.path)/spool/joint/bad.json"])
        #expect(parts.allSatisfy(scratch.files.contains))
        #expect(try scratch.spools.oldestDue(at: now) != nil)
    }

    @Test("a cancellation reaches all parts, and the report has the devices of all")
    func cancelled() throws {
        var notification = Scratch.notification()
        notification.kind = "message"
        try scratch.spools.accept(
            notification, to: devices(of: .apns) + devices(of: .fcm),
            notBefore: .requested(now + .hours(1)))
        let start = try scratch.spools.receiptsStart(notBefore: nil, at: now)
        let before = try scratch.spools.trace("n1", from: start, devices: 4)
        #expect(before.deliveries.map(\.outcome) == [nil, nil, nil, nil])
        #expect(before.deliveries.allSatisfy { $0.user == "42" || $0.user == "ann" })
        #expect(try scratch.spools.cancel("n1", at: now) { _, _, _, _ in })
        let after = try scratch.spools.trace("n1", from: start, devices: 4)
        #expect(after.deliveries.map(\.outcome) == Array(repeating: .cancelled, count: 4))
        #expect(try !scratch.spools.contains("n1"))
    }

    @Test("a cancellation reaches a part that has no name yet")
    func cancelledUnnamed() throws {
        var prepared = try prepare()
        try prepared.makeFindable()
        try Files.commit("\(scratch.folder.path)/\(joint)")
        try Files.commit("\(scratch.folder.path)/\(parts[0])")
        #expect(try scratch.spools.cancel("n1", at: now) { _, _, _, _ in })
        #expect(!scratch.files.contains { $0.contains("n1.json") })
    }

    @Test("a part for a service that a newer version knows is left alone")
    func newer() throws {
        let text = #"{"version":1,"places":["apns/ready/normal","sms/ready/normal"]}"#
        try scratch.folder.write(text, to: joint)
        var faults: [Failure] = []
        scratch.spools.completeJoints { faults.append($0) }
        #expect(faults.map(\.cause) == ["newer"])
        #expect(scratch.files == [joint])
    }

    @Test("what was accepted for one queue by an earlier version is completed there")
    func earlierPlace() throws {
        try scratch.folder.write("x", to: "spool/apns/ready/normal/n1.jsonl.new")
        try scratch.spools.complete("n1", in: "ready/normal")
        #expect(scratch.files == [parts[0]])
    }
}
