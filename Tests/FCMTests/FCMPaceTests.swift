import Testing
import Turnstone

@testable import FCM

@Suite struct FCMPaceTests {
    @Test("no minute has more messages than the limit", arguments: [60, 1000, 590_000])
    func everyMinute(limit: Int) {
        var pace = FCMPace(limit: limit, now: Instant(milliseconds: 0))
        var sent: [(at: Int64, count: Int)] = []
        for moment in stride(from: Int64(0), through: 180_000, by: 50) {
            let count = pace.allowed(now: Instant(milliseconds: moment))
            pace.spend(count)
            sent.append((moment, count))
        }
        for start in stride(from: Int64(0), through: 120_000, by: 500) {
            let inMinute = sent.filter { $0.at >= start && $0.at < start + 60_000 }
                .reduce(0) { $0 + $1.count }
            #expect(inMinute <= limit)
            #expect(inMinute >= limit * 9 / 10)
        }
    }

    @Test("nor if its runs are short", arguments: [60, 1000, 590_000])
    func shortRuns(limit: Int) {
        var sent = 0
        for start in stride(from: Int64(0), to: 60_000, by: 300) {
            var pace = FCMPace(limit: limit, now: Instant(milliseconds: start))
            for moment in stride(from: start, to: start + 300, by: 10) {
                let count = pace.allowed(now: Instant(milliseconds: moment))
                pace.spend(count)
                sent += count
            }
        }
        #expect(sent <= limit)
    }

    @Test func itSaysWhenTheNextOneMayGo() {
        let start = Instant(milliseconds: 1000)
        var pace = FCMPace(limit: 61, now: Instant(milliseconds: 0))
        #expect(pace.allowed(now: start) == 1)
        pace.spend(1)
        #expect(pace.allowed(now: start) == 0)
        #expect(pace.next == start + .milliseconds(1000))
        #expect(pace.allowed(now: start + .milliseconds(999)) == 0)
        #expect(pace.allowed(now: start + .milliseconds(1000)) == 1)
    }

    @Test func aClockThatStandsStillOrGoesBackGrantsNothing() {
        var pace = FCMPace(limit: 6000, now: Instant(milliseconds: 9000))
        pace.spend(pace.allowed(now: Instant(milliseconds: 10_000)))
        #expect(pace.allowed(now: Instant(milliseconds: 10_000)) == 0)
        #expect(pace.allowed(now: Instant(milliseconds: 5000)) == 0)
    }
}
