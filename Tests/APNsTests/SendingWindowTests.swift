import Testing
import Turnstone

@testable import APNs

@Suite struct SendingWindowTests {
    @Test func theFirstPushGoesAlone() {
        var window = SendingWindow()
        #expect(window.size(server: 1000) == 1)
        window.adapt(to: .quarantined)
        window.adapt(to: .later(pause: .seconds(1)))
        #expect(window.size(server: 1000) == 1)
        window.adapt(to: .accepted(uniqueID: nil))
        #expect(window.size(server: 500) == 500)
        #expect(window.size(server: 1) == 1)
        #expect(window.size(server: 0) == 1)
        #expect(window.size(server: 4_294_967_295) == SendingWindow.maximum)
    }

    @Test func aGoneDeviceProvesTheTokenToo() {
        var window = SendingWindow()
        window.adapt(to: .gone(since: Timestamp(seconds: 0)))
        #expect(window.size(server: 100) == 100)
    }

    @Test func aRunOfErrorsHalvesTheWindow() {
        var window = SendingWindow()
        window.adapt(to: .accepted(uniqueID: nil))
        for _ in 1..<SendingWindow.errorRun { window.adapt(to: .quarantined) }
        #expect(window.size(server: 1000) == 1000)
        window.adapt(to: .quarantined)
        #expect(window.size(server: 1000) == 500)
        for _ in 0..<200 { window.adapt(to: .refused) }
        #expect(window.size(server: 1000) == 1)
    }

    @Test func successOpensTheWindowAgain() {
        var window = SendingWindow()
        window.adapt(to: .accepted(uniqueID: nil))
        window.shrink()
        #expect(window.size(server: 1000) == 500)
        for _ in 0..<10 { window.adapt(to: .accepted(uniqueID: nil)) }
        #expect(window.size(server: 1000) == 510)
    }

    @Test func anAcceptedPushEndsARunOfErrors() {
        var window = SendingWindow()
        window.adapt(to: .accepted(uniqueID: nil))
        for _ in 0..<20 {
            for _ in 1..<SendingWindow.errorRun { window.adapt(to: .refused) }
            window.adapt(to: .accepted(uniqueID: nil))
        }
        #expect(window.size(server: 1000) == 1000)
    }

    @Test func thePauseGrowsWithEachFailedConnection() {
        let start = Instant(milliseconds: 0)
        var retry = Reconnection()
        #expect(retry.nextAttempt == .first && !retry.isFailing)
        for pause: Int64 in [1, 2, 4, 8, 16, 32, 60, 60] {
            retry.didEnd("no", now: start)
            #expect(retry.nextAttempt == start + .seconds(pause) && retry.isFailing)
        }
        retry.didSucceed()
        retry.didEnd("went away", now: start)
        #expect(retry.nextAttempt == start + .milliseconds(200) && !retry.isFailing)
        retry.didEnd("no", now: start)
        #expect(retry.nextAttempt == start + .seconds(1) && retry.isFailing && retry.reason == "no")
    }

    @Test("a GOAWAY without an answer is a failure from the second time on")
    func goAways() {
        let start = Instant(milliseconds: 0)
        var retry = Reconnection()
        func end() { retry.didEnd("GOAWAY", isSentAway: true, now: start) }
        end()
        #expect(retry.nextAttempt == start + .milliseconds(200) && !retry.isFailing)
        for pause: Int64 in [1, 2] {
            end()
            #expect(retry.nextAttempt == start + .seconds(pause) && retry.isFailing)
        }
        retry.didSucceed()
        for isFailing in [false, false, true] {
            end()
            #expect(retry.isFailing == isFailing)
        }
        // Connections that were open at the same time may all end.
        retry.didSucceed()
        for (opened, isFailing) in [(-9, false), (-5, false), (0, false), (1, true)] {
            retry.didEndUnanswered(
                "GOAWAY", isSentAway: true, opened: start + .seconds(Int64(opened)), now: start)
            #expect(retry.isFailing == isFailing)
        }
        // So do those of the next round, which is one failure.
        retry.didEndUnanswered(
            "GOAWAY", isSentAway: true, opened: start + .seconds(-1), now: start)
        #expect(retry.nextAttempt == start + .seconds(1))
        // A server that could not be reached before has no such credit.
        retry = Reconnection()
        retry.didFail("ECONNREFUSED", now: start)
        end()
        #expect(retry.nextAttempt == start + .seconds(2))
    }
}
