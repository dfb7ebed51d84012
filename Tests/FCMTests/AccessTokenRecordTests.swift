import Testing
import Turnstone
import Unix

@testable import FCM

@Suite struct AccessTokenRecordTests {
    private static let now = Timestamp("2026-11-21T12:00:00Z")!
    private let a = AccessTokenRecord.Holder(name: "a", address: .own)
    private let b = AccessTokenRecord.Holder(name: "b", address: .own)
    private let hour = TokenGrant(text: "t1", life: .hours(1))

    private func record(age: Interval, _ grant: TokenGrant? = nil) -> AccessTokenRecord {
        var record = AccessTokenRecord()
        record.succeed(grant ?? hour, now: Self.now - age)
        return record
    }

    @Test("one process fetches, and the others wait until its claim is over")
    func claim() {
        var record = AccessTokenRecord()
        let now = Self.now
        #expect(record.decide(rejected: nil, holder: a, now: now) == .fetch(nil))
        #expect(record.decide(rejected: nil, holder: b, now: now) == .wait(nil))
        let late = now + AccessTokenRecord.claimLife
        #expect(record.decide(rejected: nil, holder: b, now: late) == .fetch(nil))
        #expect(record.decide(rejected: nil, holder: a, now: late) == .wait(nil))
        // Its failure is late, and must not keep the other one from going on.
        record.fail(TokenFailure(reason: "no", isLasting: true), holder: a, now: late)
        #expect(record.decide(rejected: nil, holder: a, now: late) == .wait(nil))
    }

    @Test("the claim of a process that was killed binds nobody, and one of another machine does")
    func killed() throws {
        let process = try ChildProcess.start("/bin/true", output: .null, errors: .null)
        process.wait()
        let ended = ProcessAddress(host: ThisMachine.name, id: Int64(process.id))
        for (address, isBinding) in [
            (ended, false), (ProcessAddress(host: "elsewhere", id: ended.id), true),
            (ProcessAddress(host: nil, id: nil), true),
        ] {
            var record = AccessTokenRecord()
            let holder = AccessTokenRecord.Holder(name: "killed", address: address)
            #expect(record.decide(rejected: nil, holder: holder, now: Self.now) == .fetch(nil))
            #expect(
                record.decide(rejected: nil, holder: a, now: Self.now)
                    == (isBinding ? .wait(nil) : .fetch(nil)))
        }
    }

    @Test("a claim from a clock that was ahead binds nobody")
    func claimAhead() {
        var record = AccessTokenRecord()
        _ = record.decide(rejected: nil, holder: a, now: Self.now + .hours(5))
        #expect(record.decide(rejected: nil, holder: b, now: Self.now) == .fetch(nil))
    }

    @Test("a token is used until five minutes before its end, and meanwhile one process renews it")
    func renewal() throws {
        var record = record(age: .minutes(54))
        let old = try #require(record.token)
        #expect(
            record.decide(rejected: nil, holder: a, now: Self.now) == .use(old, .minutes(1)))
        let late = Self.now + .minutes(1)
        #expect(record.decide(rejected: nil, holder: a, now: late) == .fetch(old))
        #expect(record.decide(rejected: nil, holder: b, now: late) == .wait(old))
        #expect(
            record.decide(rejected: nil, holder: b, now: late + .minutes(5)) == .fetch(nil))
    }

    @Test("a token with a short life is not renewed all the time")
    func shortLife() throws {
        var record = record(age: .seconds(20), TokenGrant(text: "t", life: .minutes(1)))
        let token = try #require(record.token)
        #expect(
            record.decide(rejected: nil, holder: a, now: Self.now)
                == .use(token, .seconds(10)))
    }

    @Test("a refused token is replaced at once, and its replacement not for five minutes")
    func refused() throws {
        var record = record(age: .seconds(1))
        #expect(record.decide(rejected: "t1", holder: a, now: Self.now) == .fetch(nil))
        #expect(record.decide(rejected: "t1", holder: b, now: Self.now) == .wait(nil))
        record.succeed(TokenGrant(text: "t2", life: .hours(1)), now: Self.now)
        let second = try #require(record.token)
        #expect(
            record.decide(rejected: "t1", holder: b, now: Self.now) == .use(second, .minutes(1)))
        #expect(
            record.decide(rejected: "t2", holder: b, now: Self.now + .minutes(1))
                == .fail(reason: "FCM refuses a new access token", .minutes(4)))
        #expect(
            record.decide(rejected: "t2", holder: b, now: Self.now + .minutes(5)) == .fetch(nil))
    }

    @Test("a refused token is used by no process, also once it was stored and read")
    func refusedForAll() throws {
        var record = record(age: .seconds(1))
        _ = record.decide(rejected: "t1", holder: a, now: Self.now)
        record.succeed(TokenGrant(text: "t2", life: .hours(1)), now: Self.now)
        _ = record.decide(rejected: "t2", holder: a, now: Self.now)
        var members = JSONObject()
        record.write(to: &members)
        var stored = AccessTokenRecord(members)
        #expect(
            stored.decide(rejected: nil, holder: b, now: Self.now + .minutes(1))
                == .fail(reason: "FCM refuses a new access token", .minutes(4)))
        #expect(stored.decide(rejected: nil, holder: b, now: Self.now + .minutes(5)) == .fetch(nil))
        stored.succeed(TokenGrant(text: "t3", life: .hours(1)), now: Self.now + .minutes(5))
        _ = stored.decide(rejected: "t3", holder: b, now: Self.now + .minutes(5))
        #expect(
            stored.decide(rejected: nil, holder: a, now: Self.now + .minutes(6))
                == .fail(reason: "FCM refuses a new access token", .minutes(4)))
    }

    @Test("a failed fetch holds all processes back, for longer each time, and success ends that")
    func failures() {
        var record = AccessTokenRecord()
        var now = Self.now
        for seconds: Int64 in [1, 2, 4, 8, 16, 32, 60, 60] {
            #expect(record.decide(rejected: nil, holder: a, now: now) == .fetch(nil))
            record.fail(TokenFailure(reason: "no", isLasting: false), holder: a, now: now)
            #expect(
                record.decide(rejected: nil, holder: b, now: now)
                    == .fail(reason: "no", .seconds(seconds)))
            now = now + .seconds(seconds)
        }
        #expect(record.decide(rejected: nil, holder: b, now: now) == .fetch(nil))
        record.succeed(hour, now: now)
        #expect(record.failure == nil && record.claim == nil)
    }

    @Test(
        "a wrong account waits longer, and Google's own pause counts up to an hour",
        arguments: [
            (true, nil, 30), (false, Interval.seconds(7), 7), (true, .seconds(0), 1),
            (false, .days(9), 3600),
        ] as [(Bool, Interval?, Int64)])
    func pauses(isLasting: Bool, asked: Interval?, seconds: Int64) {
        var record = AccessTokenRecord()
        _ = record.decide(rejected: nil, holder: a, now: Self.now)
        record.fail(
            TokenFailure(reason: "no", isLasting: isLasting, pause: asked), holder: a,
            now: Self.now)
        #expect(
            record.decide(rejected: nil, holder: a, now: Self.now)
                == .fail(reason: "no", .seconds(seconds)))
    }

    @Test("while renewals fail, the present token is used to its end")
    func failingRenewal() throws {
        var record = record(age: .minutes(56))
        let old = try #require(record.token)
        #expect(record.decide(rejected: nil, holder: a, now: Self.now) == .fetch(old))
        record.fail(TokenFailure(reason: "no", isLasting: true), holder: a, now: Self.now)
        #expect(
            record.decide(rejected: nil, holder: a, now: Self.now) == .use(old, .seconds(30)))
    }

    @Test(
        "a failure from a clock that was ahead, and a token from one, count for nothing",
        arguments: [.minutes(2), .minutes(50), .days(1)] as [Interval])
    func ahead(by interval: Interval) {
        var record = AccessTokenRecord()
        _ = record.decide(rejected: nil, holder: a, now: Self.now + interval)
        record.fail(
            TokenFailure(reason: "no", isLasting: true), holder: a, now: Self.now + interval)
        #expect(record.decide(rejected: nil, holder: a, now: Self.now) == .fetch(nil))
        var other = self.record(age: .hours(-2))
        #expect(other.decide(rejected: nil, holder: a, now: Self.now) == .fetch(nil))
    }

    @Test func theDocumentKeepsEverythingAndWhatItDoesNotKnow() {
        var record = record(age: .minutes(1))
        _ = record.decide(rejected: "t1", holder: a, now: Self.now)
        record.fail(TokenFailure(reason: "no", isLasting: true), holder: a, now: Self.now)
        _ = record.decide(rejected: nil, holder: b, now: Self.now + .minutes(1))
        var members: JSONObject = ["later": 1]
        record.write(to: &members)
        #expect(members["later"] == 1)
        #expect(AccessTokenRecord(members) == record)
        #expect(
            AccessTokenRecord(["token": 1, "claim": [], "failure": "x"]) == AccessTokenRecord())
    }
}
