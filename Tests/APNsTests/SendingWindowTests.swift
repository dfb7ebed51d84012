import Testing
import Turnstone

@testable import APNs

@Suite struct SendingWindowTests {
    @Test func theFirstPushGoesAlone() {
        var window = SendingWindow()
        #expect(window.size(server: 1000) == 1)
        window.note(.quarantined)
        window.note(.later(pause: .seconds(1)))
        #expect(window.size(server: 1000) == 1)
        window.note(.accepted(uniqueID: nil))
        #expect(window.size(server: 500) == 500)
        #expect(window.size(server: 1) == 1)
        #expect(window.size(server: 0) == 1)
        #expect(window.size(server: 4_294_967_295) == SendingWindow.most)
    }

    @Test func aGoneDeviceProvesTheTokenToo() {
        var window = SendingWindow()
        window.note(.gone(since: Timestamp(seconds: 0)))
        #expect(window.size(server: 100) == 100)
    }

    @Test func aRunOfErrorsHalvesTheWindow() {
        var window = SendingWindow()
        window.note(.accepted(uniqueID: nil))
        for _ in 1..<SendingWindow.run { window.note(.quarantined) }
        #expect(window.size(server: 1000) == 1000)
        window.note(.quarantined)
        #expect(window.size(server: 1000) == 500)
        for _ in 0..<200 { window.note(.refused) }
        #expect(window.size(server: 1000) == 1)
    }

    @Test func successOpensTheWindowAgain() {
        var window = SendingWindow()
        window.note(.accepted(uniqueID: nil))
        window.shrink()
        #expect(window.size(server: 1000) == 500)
        for _ in 0..<10 { window.note(.accepted(uniqueID: nil)) }
        #expect(window.size(server: 1000) == 510)
    }

    @Test func errorsApartAreNoRun() {
        var window = SendingWindow()
        window.note(.accepted(uniqueID: nil))
        for _ in 0..<20 {
            for _ in 1..<SendingWindow.run { window.note(.refused) }
            window.note(.accepted(uniqueID: nil))
        }
        #expect(window.size(server: 1000) == 1000)
    }

    @Test func connectionsThatFailAreMadeEverMoreRarely() {
        let start = Instant(milliseconds: 0)
        var retry = Reconnection()
        #expect(retry.moment == .first && !retry.isFailing)
        for pause: Int64 in [1, 2, 4, 8, 16, 32, 60, 60] {
            retry.noteEnd("no", now: start)
            #expect(retry.moment == start + .seconds(pause) && retry.isFailing)
        }
        retry.noteSuccess()
        retry.noteEnd("went away", now: start)
        #expect(retry.moment == start + .milliseconds(200) && !retry.isFailing)
        retry.noteEnd("no", now: start)
        #expect(retry.moment == start + .seconds(1) && retry.isFailing && retry.reason == "no")
    }

    @Test func aQueueKeepsItsOrder() {
        var queue = Deque<Int>()
        var expected = 0
        for number in 0..<10_000 {
            queue.append(number)
            if number % 3 == 2 {
                #expect(queue.popFirst() == expected)
                expected += 1
            }
        }
        #expect(queue.count == 10_000 - expected)
        queue.prepend(-1)
        #expect(queue.popFirst() == -1)
        while let number = queue.popFirst() {
            #expect(number == expected)
            expected += 1
        }
        #expect(expected == 10_000 && queue.isEmpty)
        queue.prepend(7)
        #expect(queue.count == 1 && queue.popFirst() == 7 && queue.popFirst() == nil)
    }
}
