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

    @Test func itSaysWhenTheNextOneMayGo() {
        let start = Instant(milliseconds: 0)
        var pace = FCMPace(limit: 61, now: start)
        #expect(pace.allowed(now: start) == 1)
        pace.spend(1)
        #expect(pace.allowed(now: start) == 0)
        #expect(pace.next == start + .milliseconds(1000))
        #expect(pace.allowed(now: start + .milliseconds(999)) == 0)
        #expect(pace.allowed(now: start + .milliseconds(1000)) == 1)
    }

    @Test func aClockThatStandsStillOrGoesBackGrantsNothing() {
        var pace = FCMPace(limit: 6000, now: Instant(milliseconds: 10_000))
        pace.spend(pace.allowed(now: Instant(milliseconds: 10_000)))
        #expect(pace.allowed(now: Instant(milliseconds: 10_000)) == 0)
        #expect(pace.allowed(now: Instant(milliseconds: 5000)) == 0)
    }
}
