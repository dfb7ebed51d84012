import TestSupport
import Testing
import Turnstone

@testable import Spool

/// How fast the pushes of a throttled message leave.
@Suite struct ThrottleTests {
    private struct Drainers {
        let folder = TemporaryFolder()
        let perMinute: Int64
        var throttles: [Throttle] = []

        init(_ count: Int, perMinute: Int64) {
            self.perMinute = perMinute
            for _ in 0..<count { throttles.append(make()) }
        }

        func make() -> Throttle { Throttle(at: "\(folder.path)/t/id.json", perMinute: perMinute) }
    }

    /// The most moments within any 60 s.
    private func most(_ moments: [Int64]) -> Int {
        var most = 0
        var first = 0
        for (place, moment) in moments.enumerated() {
            while moments[first] <= moment - 60_000 { first += 1 }
            most = max(most, place - first + 1)
        }
        return most
    }

    @Test(
        "no minute has more, wherever it begins, and hardly any has fewer",
        arguments: [1, 2, 3, 7, 60, 61, 63, 64, 100, 127, 128, 191, 600, 6000, 100_000] as [Int64],
        [1, 3])
    func rate(perMinute: Int64, drainers: Int) throws {
        let drainers = Drainers(drainers, perMinute: perMinute)
        var random = SystemRandomNumberGenerator()
        var now = Timestamp(milliseconds: 1_795_262_400_000)
        let start = now
        var moments: [Int64] = []
        while now - start < .minutes(6) {
            for throttle in drainers.throttles.shuffled() {
                var burst = 0
                while burst < 2000, try throttle.isOpen(at: now) {
                    throttle.take()
                    moments.append(now.milliseconds)
                    burst += 1
                }
            }
            now = now + .milliseconds(Int64.random(in: 1...40, using: &random))
        }
        #expect(most(moments) <= Int(perMinute))
        let fewest = Double(perMinute) * 6 * 0.9 - 1
        #expect(Double(moments.count) >= fewest, "\(moments.count)")
    }

    @Test("killed drainers do not make it faster", arguments: [1, 5, 90, 1000] as [Int64])
    func killed(perMinute: Int64) throws {
        var drainers = Drainers(2, perMinute: perMinute)
        var now = Timestamp(milliseconds: 1_795_262_400_000)
        let start = now
        var moments: [Int64] = []
        while now - start < .minutes(4) {
            let place = Int.random(in: 0..<2)
            if Int.random(in: 0..<3) == 0 { drainers.throttles[place] = drainers.make() }
            if try drainers.throttles[place].isOpen(at: now) {
                drainers.throttles[place].take()
                moments.append(now.milliseconds)
            }
            now = now + .milliseconds(Int64.random(in: 1...60))
        }
        #expect(most(moments) <= Int(perMinute))
        #expect(!moments.isEmpty)
    }

    @Test("what left without being allowed is made up for")
    func owed() throws {
        let throttle = Drainers(1, perMinute: 6).throttles[0]
        var now = Timestamp(milliseconds: 1_795_262_400_000)
        #expect(try throttle.isOpen(at: now))
        for _ in 0..<3 { throttle.take() }
        var count = 0
        // One leaves every 10.3 s.
        for _ in 0..<(40 * 4) {
            now = now + .milliseconds(250)
            if try throttle.isOpen(at: now) {
                throttle.take()
                count += 1
            }
        }
        #expect(count == 1)
    }

    @Test("a clock that was ahead holds nothing up")
    func clock() throws {
        let drainers = Drainers(2, perMinute: 1)
        let now = Timestamp(milliseconds: 1_795_262_400_000)
        #expect(try drainers.throttles[0].isOpen(at: now + .days(30)))
        drainers.throttles[0].take()
        #expect(try drainers.throttles[1].isOpen(at: now))
        #expect(try drainers.throttles[0].isOpen(at: now + .minutes(2)))
    }
}
