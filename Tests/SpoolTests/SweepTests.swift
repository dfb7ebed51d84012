import Foundation
import TestSupport
import Testing
import Turnstone

@testable import Spool

/// Files that a killed program did not finish.
@Suite struct SweepTests {
    static let key = String(repeating: "ab", count: 16)

    @Test(
        "they go after 25 hours, and no sooner",
        arguments: [
            "spool/apns/series/\(key)/all/n1.5.6.json.new",
            "spool/apns/series/\(key)/ann/held.5.6.json.new",
            "spool/apns/ready/normal/n1.jsonl.new",
            "spool/apns/waiting/1795300000000/n1.jsonl.new",
            "spool/apns/waiting/1795300000000-1795262400000/n1.jsonl.new",
            "spool/apns/held/1795300000000-1795262400000/\(key)/n1.jsonl.new",
            "spool/fcm/ready/bulk/n1.jsonl.new",
        ])
    func leftover(name: String) throws {
        let scratch = Scratch()
        let finished = String(name.dropLast(4))
        func date(hoursAgo: Double) throws {
            let moment = Date(timeIntervalSinceNow: -hoursAgo * 3600)
            for (name, text) in [(name, "{"), (finished, "{}\n")] {
                try scratch.folder.write(text, to: name)
                try FileManager.default.setAttributes(
                    [.modificationDate: moment], ofItemAtPath: "\(scratch.folder.path)/\(name)")
            }
        }
        try date(hoursAgo: 24.9)
        try sweep(scratch)
        #expect(scratch.files.contains(name))
        try date(hoursAgo: 25.1)
        try sweep(scratch)
        #expect(!scratch.files.contains(name))
        // A mark of a notification that is nowhere goes, too.
        #expect(scratch.files.contains(finished) != name.contains("/series/"))
    }

    /// In two hours each folder has had its turn.
    private func sweep(_ scratch: Scratch) throws {
        for turn in 0..<257 {
            try scratch.spools.sweep(at: Scratch.now + .seconds(30 * Int64(turn))) {
                Issue.record("\($0.sentence)")
            }
        }
    }
}
