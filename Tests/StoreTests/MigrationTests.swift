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
        let version = try LayoutVersion(#require(folder.read("version.json")))
        #expect(version?.version == 3 && version?.ownLocks == .held)
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
