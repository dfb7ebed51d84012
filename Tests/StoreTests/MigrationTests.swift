import Foundation
import TestSupport
import Testing
import Turnstone
import Unix

@testable import Store

/// What a state folder of version 1 becomes.
@Suite struct MigrationTests {
    private let folder = TemporaryFolder()

    private func open() throws -> State {
        try Scratch.open(folder.path)
    }

    private let before = [
        "version.json": #"{"version":1}"#, "spool/drainer.lock": "",
        "spool/checkpoint.json": #"{"version":1,"day":"2026-11-20","offset":4}"#,
        "spool/erasures": "2\n", "spool/ready/normal/a.jsonl": "a",
        "spool/ready/bulk/b.jsonl": "b", "spool/waiting/1795262400000/c.jsonl": "c",
        "spool/held/1795262400000/x-y/d.jsonl": "d", "spool/cancelled/c": "",
        "spool/series/00/all/e.1.2.json": "{}", "spool/failed/f.jsonl": "f",
        "receipts/2026-11-20.jsonl": "g\n", "receipts/2026-11-21.jsonl.unreadable-1": "h",
    ]

    private let after = [
        "spool/apns/checkpoint.json": #"{"version":1,"day":"2026-11-20","offset":4}"#,
        "spool/erasures": "2\n", "spool/apns/ready/normal/a.jsonl": "a",
        "spool/apns/ready/bulk/b.jsonl": "b", "spool/apns/waiting/1795262400000/c.jsonl": "c",
        "spool/apns/held/1795262400000/x-y/d.jsonl": "d", "spool/apns/cancelled/c": "",
        "spool/apns/series/00/all/e.1.2.json": "{}", "spool/apns/failed/f.jsonl": "f",
        "receipts/2026-11-20.apns.0.jsonl": "g\n",
        "receipts/2026-11-21.apns.0.jsonl.unreadable-1": "h",
    ]

    private func give(_ files: [String: String]) throws {
        for (name, text) in files { try folder.write(text, to: name) }
    }

    private func contents() -> [String: String] {
        folder.files().filter { !$0.key.hasPrefix("version.json") }.mapValues {
            String(decoding: $0, as: UTF8.self)
        }
    }

    @Test("the queue becomes that of APNs, and the receipts get its name")
    func migration() throws {
        try give(before)
        _ = try open()
        #expect(contents() == after)
        #expect(folder.read("version.json") == Array(#"{"version":2}"#.utf8))
        _ = try open()
        #expect(contents() == after)
    }

    @Test("what a killed migration has left is moved too", arguments: 0..<8)
    func killed(moved: Int) throws {
        try give(before)
        let names = [
            "checkpoint.json", "ready", "waiting", "held", "cancelled", "series", "failed",
        ]
        try Files.makeFolder("\(folder.path)/spool/apns")
        for name in names.prefix(moved) {
            try Files.rename("\(folder.path)/spool/\(name)", "\(folder.path)/spool/apns/\(name)")
        }
        _ = try open()
        #expect(contents() == after)
    }

    @Test("what a program accepts that began before is found later, and replaces nothing")
    func straggler() throws {
        try give(before)
        let state = try open()
        try give([
            "spool/ready/normal/z.jsonl": "z", "spool/waiting/1795262400000/y.jsonl": "y",
            "spool/checkpoint.json": "old", "receipts/2026-11-20.jsonl": "old",
        ])
        try state.adoptStragglers()
        var expected = after
        expected["spool/apns/ready/normal/z.jsonl"] = "z"
        expected["spool/apns/waiting/1795262400000/y.jsonl"] = "y"
        expected["spool/checkpoint.json"] = "old"
        expected["receipts/2026-11-20.apns.0.jsonl"] = "g\nold"
        #expect(contents() == expected)
    }

    @Test("a hundred programs at once migrate it once")
    func crowd() throws {
        try give(before)
        let path = folder.path
        DispatchQueue.concurrentPerform(iterations: 100) { _ in
            #expect(throws: Never.self) {
                _ = try Scratch.open(path)
            }
        }
        #expect(contents() == after)
    }
}

/// What becomes of `players.index`, which processes of earlier versions mapped and wrote together.
@Suite struct FirstIndexTests {
    let scratch: Scratch
    let time = Scratch.time

    /// As an earlier version left them: players 7 and 8 were looked at, 9 has no device any more, 10 was
    /// registered by an earlier program since the index was copied, and 11 was erased.
    init() throws {
        scratch = try Scratch()
        for (shard, number) in [("79", 7), ("2c", 8), ("4a", 10)] {
            try scratch.folder.write(
                ##"{"version":1,"revision":1,"devices":[{"token":"ab","registered_at":1}],"record":\##(number - 6)}"##,
                to: "users/\(shard)/\(number).json")
        }
        try scratch.folder.write(
            #"{"version":1,"revision":2,"devices":[],"record":3}"#, to: "users/19/9.json")
    }

    private func record(_ words: [Int64], tag: String = "") -> [UInt8] {
        let bytes = words.flatMap { word in
            (0..<8).map { UInt8(truncatingIfNeeded: word >> Int64(8 * $0)) }
        }
        let padded = bytes + [UInt8](repeating: 0, count: 64 - bytes.count) + Array(tag.utf8)
        return padded + [UInt8](repeating: 0, count: 128 - padded.count)
    }

    private func writeIndex() throws {
        let now = time.milliseconds
        try scratch.folder.write(
            record([0x3152_5941_4c50_5354, 1, 2, 0])
                + record([7, 1, now, now + 10, 42, 42], tag: "W/abc")
                + record([8, 1, now, 0, 0, 0, now + 60_000, 257])
                + record([9, 0, now, now, 42, 42]) + record([11, 1, now])
                + [UInt8](repeating: 0x55, count: 40), to: "players.index")
        try scratch.folder.write("", to: "players.index.lock")
    }

    private func names() -> [String] {
        scratch.folder.files().keys.filter { $0.hasPrefix("watch/") || $0.hasPrefix("players") }
            .sorted()
    }

    @Test("its players get marks, and keep their slots and what is known of them")
    func migrated() throws {
        try writeIndex()
        try scratch.looking { index in
            let records = index.records
            let seven = try #require(records.record(of: PlayerID(number: 7)!))
            #expect(records.looked(seven) == time + .milliseconds(10))
            #expect(records.found(seven) == 42 && records.judged(seven) == 42)
            #expect(records.tag(seven) == "W/abc")
            let eight = try #require(records.record(of: PlayerID(number: 8)!))
            #expect(records.isUnknown(eight))
            #expect(records.unknown(eight).until == time + .seconds(60))
            // The slots of 7 and 8 have not come.
            #expect(
                records.claim(at: time + .seconds(1), interval: .seconds(30)).map(\.player.number)
                    == [10])
        }
        #expect(
            names() == [
                "watch/2c/8", "watch/4a/10", "watch/79/7", "watch/index", "watch/looker.lock",
            ])
        #expect(try scratch.looking { $0.records.count } == 5)
    }

    @Test("a program of the earlier version that still runs loses nobody and is done no harm")
    func straggler() throws {
        try writeIndex()
        try scratch.looking { _ in }
        try scratch.folder.write(
            ##"{"version":1,"revision":1,"devices":[{"token":"cd","registered_at":1}],"record":1}"##,
            to: "users/6b/12.json")
        try scratch.folder.write(
            record([0x3152_5941_4c50_5354]) + record([12, 1]), to: "players.index")
        #expect(try scratch.looking { $0.records.record(of: PlayerID(number: 12)!) } != nil)
        #expect(names().contains("watch/6b/12") && !names().contains("players.index"))
    }

    @Test(
        "an index that is damaged or no file loses nobody",
        arguments: ["", "TSPLAYR1", nil] as [String?])
    func damaged(text: String?) throws {
        if let text {
            try scratch.folder.write(text, to: "players.index")
        } else {
            try Files.makeFolder("\(scratch.folder.path)/players.index")
        }
        let index = try #require(try scratch.state.playerIndex())
        defer { index.end() }
        #expect(try index.update { _ in } == 3)
        #expect(index.records.claim(at: time, interval: .seconds(30)).count == 3)
    }
}
