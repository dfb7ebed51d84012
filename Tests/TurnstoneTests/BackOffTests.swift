import Testing
import Turnstone

@Suite struct BackOffTests {
    @Test func withoutAWishTheTimeDoublesUpToTenMinutes() {
        var backOff: BackOff?
        var waits: [Interval] = []
        for _ in 1...9 {
            let next = BackOff(after: backOff, requested: nil, now: noon)
            waits.append(next.until - noon)
            backOff = next
        }
        #expect(waits == [10, 20, 40, 80, 160, 320, 600, 600, 600].map { .seconds($0) })
    }

    @Test(
        "a requested pause is granted, up to an hour",
        arguments: [(1, 1), (45, 45), (3600, 3600), (86_400, 3600)])
    func requestedPause(seconds: Int64, granted: Int64) {
        let backOff = BackOff(after: nil, requested: .seconds(seconds), now: noon)
        #expect(backOff.until - noon == .seconds(granted))
    }

    @Test func itIsActiveUntilItsMoment() {
        let backOff = BackOff(after: nil, requested: nil, now: noon)
        #expect(backOff.isActive(at: noon))
        #expect(backOff.isActive(at: noon + .milliseconds(9999)))
        #expect(!backOff.isActive(at: noon + .seconds(10)))
    }

    @Test func aClockThatWasSetBackDoesNotSilenceUs() {
        let backOff = BackOff(after: nil, requested: .hours(1), now: noon)
        #expect(backOff.isActive(at: noon))
        #expect(!backOff.isActive(at: noon - .milliseconds(1)))
        #expect(!backOff.isActive(at: noon - .days(400)))
    }

    @Test func theDocumentKeepsIt() {
        let backOff = BackOff(
            after: BackOff(after: nil, requested: nil, now: noon), requested: nil, now: noon)
        #expect(BackOff(backOff.members) == backOff)
        let ours = BackOff(after: nil, requested: nil, reason: "it is down", now: noon)
        #expect(BackOff(ours.members)?.reason == "it is down")
        #expect(backOff.reason == nil && BackOff(backOff.members)?.reason == nil)
        #expect(BackOff([:]) == nil)
        #expect(BackOff(["until": 1, "step": 0]) == nil)
        #expect(BackOff(["until": "1", "step": 1]) == nil)
    }

    @Test func aStepFromADamagedDocumentDoesNotOverflow() {
        let huge = BackOff(["until": 1, "step": .integer(.max - 1)])
        let next = BackOff(after: huge, requested: nil, now: noon)
        #expect(next.until - noon == .minutes(10))
    }
}
