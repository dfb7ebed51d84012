import Testing

@testable import Turnstone

@Suite struct ActivityFeedTests {
    private let start = Timestamp(milliseconds: 1_800_000_000_000)

    @Test("the first state is sent at once, and states within the window wait for it to open")
    func window() {
        var feed = ActivityFeed()
        #expect(update(&feed, 1, after: 0) == .carried(.init(id: "1", due: start)))
        #expect(feed.take(by: "1", now: start)?.state.aps == aps(1))
        let opening = ActivityFeed.Carrier(id: "2", due: start + .seconds(15))
        for second in 2...9 {
            #expect(update(&feed, second, after: Int64(second)) == .carried(opening))
        }
        #expect(feed.take(by: "2", now: opening.due)?.state.aps == aps(9))
        #expect(feed.waiting == nil)
        #expect(
            update(&feed, 40, after: 31)
                == .carried(.init(id: "40", due: start + .seconds(31))))
    }

    @Test("a channel has no window, and others may come to listen after an end")
    func channel() {
        var feed = ActivityFeed()
        func add(_ name: String, _ second: Int64, isEnd: Bool = false) -> ActivityFeed.Addition {
            let moment = start + .seconds(second)
            return feed.add(
                ["event": isEnd ? "end" : "update", "content-state": .string(name)], priority: 5,
                at: moment, expires: moment, now: moment, id: name, for: .channel)
        }
        #expect(add("a", 0) == .carried(.init(id: "a", due: start)))
        #expect(feed.carriers == ["a"] && feed.endCarrier == nil)
        #expect(feed.take(by: "a", now: start) != nil)
        #expect(add("b", 1) == .carried(.init(id: "b", due: start + .seconds(1))))
        // Nobody has taken it yet.
        #expect(add("c", 2) == .carried(.init(id: "b", due: start + .seconds(1))))
        #expect(feed.carriers == ["b", "a"])
        #expect(feed.take(by: "a", now: start) == nil)
        #expect(feed.take(by: "b", now: start)?.state.aps["content-state"] == "c")
        #expect(add("d", 1) == .outdated)
        #expect(add("e", 3, isEnd: true) == .carried(.init(id: "e", due: start + .seconds(3))))
        #expect(feed.endCarrier == "e")
        #expect(feed.take(by: "e", now: start) != nil)
        #expect(feed.endCarrier == "e")
        #expect(add("f", 2) == .outdated)
        #expect(add("g", 4) == .carried(.init(id: "g", due: start + .seconds(4))))
        #expect(feed.endCarrier == nil)
    }

    @Test("a moment that was stored while the clock was hours ahead outdates nothing")
    func clockFarAhead() {
        var feed = ActivityFeed()
        _ = update(&feed, 1, after: 40_000)
        _ = feed.take(by: "1", now: start + .seconds(40_000))
        for second in [20, 40, 60] {
            let now = start + .seconds(Int64(second))
            let addition = feed.add(
                aps(second), priority: 5, at: now, expires: now, now: now, id: "\(second)")
            #expect(addition != .outdated)
        }
        let now = start + .seconds(80)
        #expect(feed.take(by: "20", now: now)?.state.aps == aps(60))
        #expect(feed.taken?.state.moment == start + .seconds(60))
    }

    @Test("the end waits for no window, and takes along what waited")
    func end() {
        var feed = ActivityFeed()
        _ = update(&feed, 1, after: 0)
        _ = feed.take(by: "1", now: start)
        _ = update(&feed, 2, after: 1)
        let now = start + .seconds(1)
        let end = feed.add(["event": "end"], priority: 5, at: now, expires: now, now: now, id: "e")
        #expect(end == .carried(.init(id: "e", due: now)))
        let taken = feed.take(by: "e", now: now)
        #expect(taken?.state.aps["content-state"] == .integer(2))
        #expect(feed.take(by: "2", now: start + .seconds(15)) == nil)
        #expect(update(&feed, 3, after: 20) == .ended)
        #expect(
            feed.add(["event": "end"], priority: 5, at: now, expires: now, now: now, id: "f")
                == .ended)
    }

    @Test("a state older than the known one is outdated, except an end")
    func outdated() {
        var feed = ActivityFeed()
        _ = update(&feed, 1, after: 5)
        #expect(update(&feed, 2, after: 4) == .outdated)
        #expect(update(&feed, 2, after: 5) == .carried(.init(id: "1", due: start + .seconds(5))))
        let end = feed.add(
            ["event": "end"], priority: 5, at: start, expires: start, now: start, id: "e")
        #expect(end == .carried(.init(id: "e", due: start)))
    }

    @Test(
        "a session's state without a moment lets in none that is older than the activity's own, unless that was a clock ahead",
        arguments: [600, 40_000])
    func outdatedByOwn(ahead: Int64) {
        var (own, session) = (ActivityFeed(), ActivityFeed())
        _ = update(&own, 1, after: ahead)
        _ = own.take(by: "1", now: start)
        let first = start + .seconds(1)
        _ = session.add(
            aps(2), priority: 5, at: nil, expires: first, now: first, id: "2", for: .session)
        for second in [5, ahead - 1] {
            let now = start + .seconds(second)
            var own = own
            let addition = own.add(
                aps(3), priority: 5, at: now, expires: now, now: now, id: "3", besides: session)
            #expect((addition == .outdated) == (ahead == 600), "after \(second) s")
        }
    }

    @Test(
        "a taken state can be taken again, which restarts the window, until a newer state is known"
    )
    func again() {
        var feed = ActivityFeed()
        _ = update(&feed, 1, after: 0)
        let first = feed.take(by: "1", now: start)
        let again = feed.take(by: "1", now: start + .seconds(3))
        #expect(again?.state == first?.state && again?.seconds == first?.seconds)
        let due = start + .seconds(18)
        #expect(update(&feed, 2, after: 4) == .carried(.init(id: "2", due: due)))
        #expect(feed.take(by: "1", now: start + .seconds(5)) == nil)
        #expect(feed.take(by: "2", now: due)?.state.aps == aps(2))
        #expect(feed.take(by: "1", now: start + .seconds(19)) == nil)
    }

    @Test("a notification whose state was overtaken does not take another's")
    func overtaken() {
        var feed = ActivityFeed()
        _ = update(&feed, 1, after: 0)
        _ = feed.take(by: "1", now: start)
        _ = update(&feed, 2, after: 1)
        _ = feed.take(by: "2", now: start + .seconds(15))
        _ = update(&feed, 3, after: 16)
        #expect(feed.take(by: "1", now: start + .seconds(17)) == nil)
        #expect(feed.take(by: "never added", now: start + .seconds(30)) == nil)
        #expect(feed.take(by: "3", now: start + .seconds(30))?.state.aps == aps(3))
    }

    @Test("timestamps grow, even where the clock stands still or goes back")
    func timestamps() {
        var feed = ActivityFeed()
        var seconds: [Int64] = []
        for number in 1...3 {
            _ = update(&feed, number, after: 0)
            if let taken = feed.take(by: "\(number)", now: start) { seconds.append(taken.seconds) }
        }
        #expect(seconds == [1_800_000_000, 1_800_000_001, 1_800_000_002])
    }

    @Test("a clock that was set back does not shut the window for longer than it is")
    func clockSetBack() {
        var feed = ActivityFeed()
        _ = update(&feed, 1, after: 3600)
        _ = feed.take(by: "1", now: start + .seconds(3600))
        let state = feed.add(
            aps(2), priority: 5, at: start + .seconds(3600), expires: start, now: start, id: "2")
        #expect(state == .carried(.init(id: "2", due: start + .seconds(15))))
    }

    @Test("an activity's own state does not wait for states of its session that it did not get")
    func ownAhead() throws {
        var shared = ActivityFeed()
        var own = ActivityFeed()
        _ = update(&shared, 1, after: 0)
        _ = shared.take(by: "1", now: start)
        let ahead = start + .seconds(1800)
        _ = own.add(
            aps(2), priority: 5, at: ahead, expires: ahead, now: start, id: "own", besides: shared)
        #expect(own.pause(of: "own", now: start) == .seconds(15))
        let now = start + .seconds(15)
        _ = update(&shared, 3, after: 15)
        let sent = shared.take(by: "3", now: now)
        let taken = try #require(sent)
        #expect(own.merged(into: taken, now: now, fits: { _ in true }) == nil)
        #expect(own.pause(of: "own", now: now) == nil)
        let late = own.take(by: "own", now: now, besides: shared)
        #expect(late?.state.aps == aps(2))
    }

    @Test(
        "an activity's own state waits for the session's state before it only if that one may have arrived"
    )
    func ownAfterShared() throws {
        var shared = ActivityFeed()
        var own = ActivityFeed()
        func addOwn(_ number: Int, at now: Timestamp) -> ActivityFeed.Addition {
            own.add(
                aps(number), priority: 5, at: now, expires: now, now: now, id: "own \(number)",
                besides: shared)
        }
        _ = update(&shared, 1, after: 0)
        _ = shared.take(by: "1", now: start)
        _ = update(&shared, 2, after: 1)
        #expect(
            addOwn(3, at: start + .seconds(2))
                == .carried(.init(id: "own 3", due: start + .seconds(15))))
        // The session's state is taken first, and is not for this activity.
        let now = start + .seconds(15)
        let sent = shared.take(by: "2", now: now)
        let taken = try #require(sent)
        #expect(own.merged(into: taken, now: now, fits: { _ in true }) == nil)
        #expect(own.pause(of: "own 3", now: now) == nil)
        // A state that is added to the same notification now keeps its distance.
        #expect(addOwn(4, at: now) == .carried(.init(id: "own 3", due: start + .seconds(30))))
        #expect(own.pause(of: "own 3", now: now) == .seconds(15))
        #expect(own.pause(of: "own 3", now: start + .seconds(30)) == nil)
    }

    @Test("a state that is due early, because the clock was set back, keeps its distance")
    func dueEarly() throws {
        var feed = ActivityFeed()
        let wrong = start + .hours(72)
        _ = feed.add(aps(1), priority: 5, at: nil, expires: wrong, now: wrong, id: "1")
        #expect(feed.take(by: "1", now: wrong) != nil)
        // Its push was put off. With the right clock, it is sent again, and the next state's comes due too.
        _ = feed.add(aps(2), priority: 5, at: nil, expires: wrong, now: wrong, id: "2")
        #expect(feed.pause(of: "2", now: start) == nil)
        feed.recordAttempt(by: "1", at: start)
        #expect(feed.pause(of: "2", now: start) == .seconds(15))
        #expect(feed.pause(of: "2", now: start + .seconds(15)) == nil)
    }

    @Test("a listener's timestamps grow, though its own states and its session's are of one second")
    func oneSecond() {
        var shared = ActivityFeed()
        var own = ActivityFeed()
        var seconds: [Int64] = []
        for number in 1...12 {
            let now = start + .seconds(Int64(number) * 15)
            let moment = start + .milliseconds(Int64(number) * 50)
            // Its own are three, then the session's, then its own again.
            if (4...8).contains(number) {
                _ = shared.add(
                    aps(number), priority: 5, at: moment, expires: now, now: now, id: "\(number)",
                    for: .session)
                let taken = shared.take(by: "\(number)", now: now)
                if let merged = taken.flatMap({ own.merged(into: $0, now: now) { _ in true } }) {
                    seconds.append(merged.seconds)
                }
            } else {
                _ = own.add(
                    aps(number), priority: 5, at: moment, expires: now, now: now, id: "\(number)",
                    besides: shared)
                let taken = own.take(
                    by: "\(number)", now: now, besides: shared, turn: shared.taken?.turn ?? 0)
                if let taken { seconds.append(taken.seconds) }
            }
        }
        #expect(seconds == (0..<12).map { start.seconds + $0 })
    }

    @Test("a state without a moment is newer than states sent while the clock was ahead")
    func untimed() throws {
        for isTimed in [false, true] {
            var shared = ActivityFeed()
            var own = ActivityFeed()
            let ahead = start + .hours(2)
            _ = own.add(
                aps(1), priority: 5, at: nil, expires: ahead, now: ahead, id: "own",
                besides: shared)
            _ = own.take(by: "own", now: ahead, besides: shared, turn: 0)
            _ = shared.add(
                aps(2), priority: 5, at: isTimed ? start : nil, expires: ahead, now: start,
                id: "2", for: .session)
            #expect(ActivityFeed(shared.json) == shared)
            let sent = shared.take(by: "2", now: start)
            let taken = try #require(sent)
            #expect(ActivityFeed(shared.json) == shared)
            let merged = own.merged(into: taken, now: start) { _ in true }
            #expect(merged?.seconds == ahead.seconds + 1)
        }
    }

    @Test(
        "what a state without a moment has overtaken stays overtaken, whatever moment the next one has"
    )
    func staysOvertaken() throws {
        var shared = ActivityFeed()
        var own = ActivityFeed()
        let end = start + .hours(1)
        _ = own.add(
            aps(1), priority: 5, at: start + .minutes(10), expires: end, now: start, id: "own",
            besides: shared)
        #expect(own.take(by: "own", now: start, besides: shared, turn: 0) != nil)
        _ = shared.add(
            aps(2), priority: 5, at: nil, expires: end, now: start, id: "2", for: .session)
        #expect(shared.take(by: "2", now: start) != nil)
        _ = shared.add(
            aps(3), priority: 5, at: start + .seconds(5), expires: end, now: start, id: "3",
            for: .session)
        let read = try #require(ActivityFeed(shared.json))
        #expect(read == shared)
        let next = shared.take(by: "3", now: start + .seconds(15))
        let third = try #require(next)
        let now = start + .minutes(1)
        #expect(own.take(by: "own", now: now, besides: shared, turn: 2) == nil)
        #expect(own.merged(into: third, now: now) { _ in true } != nil)
    }

    @Test(
        "a put-off alert goes with the session's state though a newer one of the activity's own waits"
    )
    func putOffBesideWaiting() throws {
        var shared = ActivityFeed()
        var own = ActivityFeed()
        let end = start + .hours(1)
        var alerting = aps(1)
        alerting["alert"] = ["title": "Look"]
        for (id, aps) in [("1", alerting), ("2", aps(2))] {
            _ = own.add(
                aps, priority: 10, at: nil, expires: end, now: start, id: id, besides: shared)
            if id == "1" {
                #expect(own.take(by: "1", now: start, besides: shared, turn: 0) != nil)
            }
        }
        _ = shared.add(
            aps(3), priority: 5, at: nil, expires: end, now: start, id: "3", for: .session)
        let taken = shared.take(by: "3", now: start + .seconds(15))
        let sent = try #require(taken)
        let now = start + .seconds(15)
        for isMissed in [false, true] {
            let merged = own.merged(into: sent, now: now, isMissed: isMissed) { _ in true }
            #expect((merged?.state.aps["alert"] != nil) == isMissed)
        }
    }

    @Test("a written value is read back unchanged")
    func json() throws {
        var feed = ActivityFeed()
        #expect(ActivityFeed(feed.json) == feed)
        _ = update(&feed, 1, after: 0)
        #expect(ActivityFeed(feed.json) == feed)
        _ = feed.take(by: "1", now: start)
        _ = update(&feed, 2, after: 1)
        #expect(ActivityFeed(feed.json) == feed)
        #expect(ActivityFeed(["taken": ["by": "x"]]) == nil)
    }

    private func aps(_ state: Int) -> JSONObject {
        ["event": "update", "content-state": .integer(Int64(state))]
    }

    private func update(
        _ feed: inout ActivityFeed, _ state: Int, after seconds: Int64
    ) -> ActivityFeed.Addition {
        let now = start + .seconds(seconds)
        return feed.add(aps(state), priority: 5, at: now, expires: now, now: now, id: "\(state)")
    }
}
