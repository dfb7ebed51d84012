import Testing
import Turnstone

@testable import Store

/// When a player's turn comes round. Moments are in seconds, an interval is 30 s where nothing else is said.
@Suite struct SlotsTests {
    private func next(after slot: Int64, at now: Int64, interval: Int64 = 30) -> Int64? {
        Slots(at: Timestamp(milliseconds: now * 1000), interval: .seconds(interval))
            .next(after: Timestamp(seconds: slot))?.seconds
    }

    @Test(
        "a run may be early for its slot or late, and the slots stay where they are",
        arguments: [(1025, 1030), (1030, 1030), (1031, 1030), (1035, 1030)] as [(Int64, Int64)])
    func jitter(now: Int64, slot: Int64) {
        #expect(next(after: 1000, at: now) == slot)
    }

    @Test("a run comes too early for its slot", arguments: [1000, 1001, 1024] as [Int64])
    func early(now: Int64) {
        #expect(next(after: 1000, at: now) == nil)
    }

    @Test(
        "a run that is later than that begins a new count",
        arguments: [1036, 1060, 9000] as [Int64])
    func late(now: Int64) {
        #expect(next(after: 1000, at: now) == now)
    }

    @Test func jitterDoesNotAddUp() {
        var slot: Int64 = 1000
        for run in Int64(1)...20 {
            let now = 1000 + run * 30 + (run % 2 == 0 ? 4 : -4)
            slot = next(after: slot, at: now) ?? -1
            #expect(slot == 1000 + run * 30)
        }
    }

    @Test(
        "the tolerance is half of a short interval",
        arguments: [(1001, nil), (1002, 1004), (1006, 1004), (1007, 1007)] as [(Int64, Int64?)])
    func short(now: Int64, slot: Int64?) {
        #expect(next(after: 1000, at: now, interval: 4) == slot)
    }

    @Test func aPlayerWhoWasNeverLookedAtIsDue() {
        #expect(next(after: 0, at: 1000) == 1000)
    }

    /// Two machines run cycles whose clocks differ: together they look once an interval, as one would.
    @Test(arguments: [0, 7, 10, 20, 40, 55, 59] as [Int64])
    func twoMachinesLookOnce(skew: Int64) {
        var slot: Int64 = 0
        var looks = 0
        for run in Int64(0)..<20 {
            let moment = 10_000 + run * 30
            // The one that is behind runs a second later, and the other way round.
            for clock in run % 2 == 0 ? [moment, moment + 1 - skew] : [moment - skew, moment + 1] {
                let slots = Slots(
                    at: Timestamp(seconds: clock), interval: .seconds(30), skew: .minutes(1))
                guard let next = slots.next(after: Timestamp(seconds: slot)) else { continue }
                slot = next.seconds
                looks += 1
            }
        }
        // The first interval may have one for each clock.
        #expect((19...21).contains(looks))
    }

    @Test func aSlotInTheFutureIsAClockThatWasSetBack() {
        #expect(next(after: 5000, at: 1000) == 1000)
        // A slot that an early run took is not such a clock.
        #expect(next(after: 1004, at: 1000) == nil)
    }
}
