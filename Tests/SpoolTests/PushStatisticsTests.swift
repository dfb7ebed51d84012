import JSON
import TestSupport
import Testing
import Turnstone
import Unix

@testable import Spool

/// Counting receipts, a part at a time.
@Suite struct PushStatisticsTests {
    private let scratch = Scratch()
    private let name = "receipts/2026-11-21.apns.1.jsonl"

    private func line(_ minutes: Int64, _ rest: String) -> String {
        let at = Scratch.now.milliseconds - minutes * 60_000
        return
            #"{"id":"n1","n":0,"user":"ann","device":"80860575","at":\#(at),"apns_id":"x",\#(rest)}"#
            + "\n"
    }

    private func count(until end: Instant = .last) throws -> PushStatistics {
        try scratch.spools.statistics(at: Scratch.now, until: end)
    }

    private func sum(_ statistics: PushStatistics) -> PushCounts {
        statistics.hours.reduce(into: PushCounts()) { $0 += $1.counts }
    }

    @Test func eachLineIsCountedOnce() throws {
        let first =
            line(90, #""status":503,"reason":"Busy""#)
            + line(70, #""status":200,"delay":1200000,"since_move":1230000,"outcome":"accepted""#)
            + #"{"id":"n1","at":1,"from":0,"to":0}"# + "\n" + "damage\n"
        try scratch.folder.write(Array(first.utf8), to: name)
        for _ in 0..<2 {
            let counts = sum(try count())
            #expect(counts[.accepted] == 1 && counts.retries == 1)
            #expect(counts.delays.bound(of: 50) == .hours(1))
            #expect(counts.reasons.map { $0.reason } == ["Busy"])
        }
        // Half a line is being written, or was when the machine crashed.
        let more =
            line(5, #""in":"r1","status":200,"outcome":"accepted""#)
            + line(5, #""reason":"a \"outcome\":\"gone\" b","outcome":"superseded""#)
        try scratch.folder.write(Array((first + more + #"{"id":"n2","n":"#).utf8), to: name)
        let found = try count()
        #expect(sum(found)[.superseded] == 1 && sum(found)[.gone] == 0)
        #expect(sum(found)[.accepted] == 1)
        #expect(found.uncounted == 0)
        #expect(found.hours.map { $0.start.milliseconds % 3_600_000 } == [0, 0])
    }

    @Test func withoutTimeItSaysHowMuchIsLeft() throws {
        let text = line(5, #""status":200,"outcome":"accepted""#)
        try scratch.folder.write(Array(text.utf8), to: name)
        let none = try count(until: .first)
        #expect(none.uncounted == text.utf8.count && none.hours.isEmpty)
        #expect(sum(try count())[.accepted] == 1)
    }

    @Test("receipts that became shorter are counted anew", arguments: [true, false])
    func shorter(isDamaged: Bool) throws {
        let one = line(5, #""status":200,"outcome":"accepted""#)
        try scratch.folder.write(Array((one + one).utf8), to: name)
        #expect(sum(try count())[.accepted] == 2)
        try scratch.folder.write(Array(one.utf8), to: name)
        if isDamaged { try scratch.folder.write(Array("{".utf8), to: "statistics/2026-11-21.json") }
        let found = try count()
        #expect(sum(found)[.accepted] == 1 && found.uncounted == 0)
    }

    @Test func oldCountsGo() throws {
        try scratch.folder.write(Array("{}".utf8), to: "statistics/2026-10-01.json")
        try scratch.folder.write(Array("".utf8), to: name)
        _ = try count()
        #expect(!scratch.files.contains("statistics/2026-10-01.json"))
    }

    @Test func aQueueIsCountedUntilTimeIsUp() throws {
        let spool = scratch.spool
        for name in [
            "ready/normal/a", "ready/bulk/b", "waiting/5-1/c", "waiting/9/d", "held/5-1/box/e",
        ] {
            try scratch.folder.write([], to: "spool/apns/\(name).jsonl")
        }
        let length = try spool.length(until: .last)
        #expect(
            length.normal == 1 && length.bulk == 1 && length.putOff == 1 && length.scheduled == 1
                && length.held == 1 && length.isComplete)
        #expect(try !spool.length(until: .first).isComplete)
    }
}
