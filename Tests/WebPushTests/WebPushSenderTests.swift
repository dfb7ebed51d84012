import Foundation
import JSON
import PushServices
import Signatures
import TestSupport
import Testing
import Turnstone
import Unix

@testable import WebPush

/// The sender against the simulator, which checks each message as push services do and decrypts it.
@Suite struct WebPushSenderTests {
    @Test func everyMessageArrivesAndCanBeRead() throws {
        let service = try Service()
        let stage = try SenderStage([service])
        let browsers = try (0..<20).map { _ in try service.subscribe() }
        for (number, browser) in browsers.enumerated() {
            try stage.submit(number, to: browser, title: "Hello \(number)")
        }
        try stage.play { stage.verdicts.count == 20 }
        #expect(stage.verdicts.values.allSatisfy { $0.outcome == .accepted })
        let pushes = try service.pushes()
        #expect(pushes.count == 20)
        let titles = pushes.map { $0["payload"]?.object?["notification"]?.object?["title"]?.string }
        #expect(Set(titles) == Set((0..<20).map { "Hello \($0)" }))
        let headers = try #require(pushes.first?["headers"]?.object)
        #expect(headers["urgency"] == "normal")
        #expect(headers["topic"] == "turn")
        #expect(Int64(headers["ttl"]?.string ?? "") ?? 0 > 3500)
        #expect(try service.report()["vapid_tokens"] == 1)
        #expect(try service.report()["connections"] == 1)
    }

    @Test("a connection ends before the server takes libcurl's resets for an attack")
    func manyMessages() throws {
        let service = try Service(quiet: true)
        let stage = try SenderStage([service])
        let browser = try service.subscribe()
        var next = 0
        try stage.play {
            while next < 2000, stage.sender.room > 0 {
                try stage.submit(next, to: browser)
                next += 1
            }
            return stage.verdicts.count == 2000
        }
        #expect(stage.verdicts.values.allSatisfy { $0.outcome == .accepted })
        let report = try service.report()
        #expect(report["requests"] == 2000)
        #expect(report["connections"] == 3)
    }

    @Test("a deaf push service delays no other")
    func deafOrigin() throws {
        let deaf = try Service()
        let good = try Service(like: deaf)
        try deaf.simulator.perform(["do": "web-deaf"])
        let stage = try SenderStage([deaf, good])
        let (lost, found) = (try deaf.subscribe(), try good.subscribe())
        let start = Instant.now
        var next = 0
        var delivered = 0
        // Every second message is for the deaf one. Submitting goes on as long as the sender has room.
        try stage.play {
            while next < 1000, stage.sender.room > 0 {
                try? stage.submit(next, to: next.isMultiple(of: 2) ? lost : found)
                next += 1
            }
            delivered = stage.verdicts.count { !$0.key.isMultiple(of: 2) }
            return next == 1000 && delivered == 500
        }
        #expect(Instant.now - start < .seconds(6))
        let outcomes = stage.verdicts.filter { !$0.key.isMultiple(of: 2) }.values
        #expect(outcomes.allSatisfy { $0.outcome == .accepted })
        let others = stage.verdicts.filter { $0.key.isMultiple(of: 2) }.values
        #expect(
            others.allSatisfy {
                if case .originPaused = $0.outcome { true } else { false }
            })
        #expect(try good.report()["accepted"] == 500)
        stage.sender.close()
        _ = try stage.sender.exchange()
        #expect(stage.sender.backlog == 0)
    }

    @Test(
        "a message to a service that cannot be reached comes back unsent, with a pause for its origin"
    )
    func unreachable() throws {
        let service = try Service()
        let stage = try SenderStage([service])
        let browser = try service.subscribe()
        service.end()
        try stage.submit(1, to: browser)
        try stage.submit(2, to: browser)
        try stage.play { stage.verdicts.count == 2 }
        for verdict in stage.verdicts.values {
            guard case .originPaused(let pause) = verdict.outcome else {
                Issue.record("\(verdict)")
                continue
            }
            #expect(pause > .seconds(0) && pause <= .seconds(1))
        }
        #expect(stage.sender.troubles.map(\.origin) == [service.origin])
        try stage.submit(3, to: browser)
        #expect(try stage.sender.exchange().count == 1)
    }

    @Test func anAddressThatIsNotPublicIsRefusedAtConnect() throws {
        let service = try Service()
        let stage = try SenderStage([service], mayBePrivate: false)
        try stage.submit(1, to: service.subscribe())
        try stage.play { stage.verdicts.count == 1 }
        #expect(stage.verdicts[1]?.reason == "its address is not public (WEBPUSH_PRIVATE_HOSTS)")
        #expect(try service.report()["connections"] == 0)
    }

    @Test func anotherHostIsNeverCalled() throws {
        let service = try Service()
        let other = try Service(like: service)
        let stage = try SenderStage([service])
        try stage.submit(1, to: other.subscribe())
        let settled = try stage.sender.exchange()
        #expect(settled.map(\.verdict.outcome) == [.originPaused(.minutes(1))])
        #expect(settled.first?.verdict.reason?.hasSuffix("is not in WEBPUSH_HOSTS") == true)
        #expect(try other.report()["connections"] == 0)
    }

    @Test(
        "answers",
        arguments: [
            (#"{"status": 410}"#, WebPushOutcome.gone), (#"{"status": 404}"#, .gone),
            (#"{"status": 400, "reason": "BadTtl"}"#, .refused), (#"{"status": 307}"#, .refused),
            (#"{"status": 429, "retry_after": 7}"#, .laterAsAsked(pause: .seconds(7))),
            (#"{"status": 503, "retry_after": 120}"#, .laterAsAsked(pause: .seconds(120))),
            (
                #"{"status": 503, "retry_after": "99999999999999999999999"}"#,
                .laterAsAsked(pause: .hours(24))
            ),
            (#"{"status": 429, "retry_after": "0"}"#, .later(pause: .seconds(10))),
            (#"{"status": 500}"#, .later(pause: .seconds(30))),
            (#"{"kind": "drop"}"#, .noVerdict),
            (#"{"kind": "drop", "accepted": true}"#, .noVerdict),
            (#"{"kind": "reset", "code": 2}"#, .noVerdict),
            (#"{"kind": "delay", "ms": 300}"#, .accepted),
        ])
    func faults(fault: String, outcome: WebPushOutcome) throws {
        let service = try Service()
        let stage = try SenderStage([service])
        let browser = try service.subscribe()
        var command: JSONObject = ["do": "web-fault", "count": 1]
        for member in try object(fault).members { command[member.name] = member.value }
        try service.simulator.perform(command)
        try stage.submit(1, to: browser)
        try stage.play { stage.verdicts.count == 1 }
        #expect(stage.verdicts[1]?.outcome == outcome)
        // The next message arrives, at another browser if a pause was asked for.
        try stage.submit(2, to: fault.contains("retry_after") ? service.subscribe() : browser)
        try stage.play { stage.verdicts.count == 2 }
        #expect(stage.verdicts[2]?.outcome == .accepted)
    }

    @Test func noAnswerIsInDoubt() throws {
        let service = try Service()
        let stage = try SenderStage([service], patience: .milliseconds(500))
        let browser = try service.subscribe()
        try service.simulator.perform(["do": "web-fault", "kind": "stall", "count": 1])
        try stage.submit(1, to: browser)
        try stage.play { stage.verdicts.count == 1 }
        #expect(stage.verdicts[1]?.outcome == .noVerdict)
    }

    @Test("a subscription of another key stops nobody else")
    func anotherKey() throws {
        let service = try Service()
        let stage = try SenderStage([service])
        let other = base64URL(try ES256PrivateKey.generate().publicKey.point)
        let (bad, good) = (try service.subscribe(key: other), try service.subscribe())
        for number in 0..<20 { try stage.submit(number, to: number < 10 ? bad : good) }
        try stage.play { stage.verdicts.count == 20 }
        for number in 0..<20 {
            #expect(stage.verdicts[number]?.outcome == (number < 10 ? .unusable : .accepted))
        }
    }

    @Test("a token that is refused for three users stops its origin, and no other")
    func refusedToken() throws {
        let bad = try Service()
        let good = try Service(like: bad)
        let stage = try SenderStage([bad, good])
        stage.tokens.expired.insert(bad.origin)
        let (lost, found) = (try bad.subscribe(), try good.subscribe())
        for number in 0..<40 {
            let browser = number.isMultiple(of: 2) ? lost : found
            try stage.submit(number, to: browser, of: "user\(number)")
        }
        try stage.play { stage.verdicts.count == 40 }
        var paused = 0
        for (number, verdict) in stage.verdicts {
            guard number.isMultiple(of: 2) else {
                #expect(verdict.outcome == .accepted)
                continue
            }
            switch verdict.outcome {
            case .originPaused(let pause):
                #expect(pause > .minutes(14))
                paused += 1
            case .later(pause: .minutes(1)): #expect(verdict.reason == "BadJwtToken")
            default: Issue.record("\(verdict)")
            }
        }
        #expect(paused == 18)
        #expect(try bad.report()["requests"] == 3)
        #expect(
            stage.sender.troubles.map(\.reason) == ["it refuses the VAPID token: BadJwtToken"])
    }

    /// What one user's browsers may answer to everything, at paths that the user has made up.
    @Test(
        "one user's browsers stop nobody else's messages",
        arguments: [
            #"{"status": 403}"#, #"{"status": 401}"#, #"{"status": 503}"#, #"{"status": 429}"#,
            #"{"status": 429, "retry_after": 600}"#, #"{"status": 500, "retry_after": 3600}"#,
            #"{"kind": "stall"}"#, #"{"kind": "reset", "code": 2}"#,
        ],
        [false, true])
    func noise(fault: String, isVouchedFor: Bool) throws {
        let service = try Service()
        let stage = try SenderStage([service], isVouchedFor: isVouchedFor)
        let noisy = try (0..<20).map { _ in try service.subscribe() }
        for browser in noisy { try service.fail(browser, object(fault)) }
        let quiet = try (0..<10).map { _ in try service.subscribe() }
        // None has an acceptance to show for the push service.
        for number in 100..<200 { try stage.submit(number, to: noisy[number % 20], of: "noisy") }
        let start = Instant.now
        for (number, browser) in quiet.enumerated() {
            try stage.submit(number, to: browser, of: "quiet\(number)")
        }
        try stage.play { stage.verdicts.count { $0.key < 100 } == 10 }
        #expect(Instant.now - start < .seconds(4))
        for number in 0..<10 { #expect(stage.verdicts[number]?.outcome == .accepted) }
        #expect(stage.sender.troubles == [])
        stage.sender.close()
    }

    @Test("a browser that never answers leaves others' messages room, and gets one at a time")
    func silentBrowser() throws {
        let service = try Service()
        let stage = try SenderStage([service], patience: .seconds(2))
        let (mute, good) = (try service.subscribe(), try service.subscribe())
        for number in 0..<30 { try stage.submit(number, to: good, of: "good") }
        try stage.play { stage.verdicts.count == 30 }
        try service.fail(mute, ["kind": "stall"])
        for number in 100..<300 { try stage.submit(number, to: mute, of: "mute") }
        // Until all are given up or given back.
        try stage.play { stage.verdicts.count == 230 }
        let lost = stage.verdicts.filter { $0.key >= 100 }.values.count { $0.outcome == .noVerdict }
        #expect((1...50).contains(lost))
        let requests = try service.report()["requests"]?.integer ?? 0
        for number in 300..<400 { try stage.submit(number, to: mute, of: "mute") }
        for number in 30..<60 { try stage.submit(number, to: good, of: "good") }
        try stage.play { stage.verdicts.count { $0.key < 60 } == 60 && stage.verdicts.count >= 359 }
        #expect(stage.verdicts.filter { $0.key < 60 }.values.allSatisfy { $0.outcome == .accepted })
        #expect(try service.report()["requests"] == .integer(requests + 31))
        stage.sender.close()
    }

    @Test("messages without answers do not keep an old connection from being replaced")
    func silenceAtTheEndOfAConnection() throws {
        let service = try Service(quiet: true)
        let stage = try SenderStage([service])
        let (mute, good) = (try service.subscribe(), try service.subscribe())
        try service.fail(mute, ["kind": "stall"])
        try stage.submit(5000, to: good)
        try stage.play { stage.verdicts.count == 1 }
        try stage.submit(5001, to: mute, of: "mute")
        var next = 0
        try stage.play {
            while next < 1500, stage.sender.backlog < 200 {
                try stage.submit(next, to: good, of: "user\(next % 50)")
                next += 1
            }
            return stage.verdicts.count { $0.key < 5000 } == 1500
        }
        #expect(stage.verdicts.values.count { $0.outcome == .accepted } == 1501)
        #expect(stage.verdicts[5001]?.outcome == .noVerdict)
        #expect(try service.report()["connections"] == 2)
    }

    @Test("an ill push service gets three users' messages before a pause, and all after it")
    func illService() throws {
        let service = try Service()
        let stage = try SenderStage([service])
        try service.simulator.perform(["do": "web-fault", "status": 503, "retry_after": 1])
        for number in 0..<20 {
            try stage.submit(number, to: service.subscribe(), of: "user\(number / 2)")
        }
        try stage.play { stage.verdicts.count == 20 }
        #expect(try service.report()["requests"] == 3)
        #expect(stage.sender.troubles.map(\.reason) == ["it answered 429 or 5xx"])
        try service.simulator.perform(["do": "clear"])
        sleep(for: .milliseconds(1100))
        for number in 20..<40 {
            try stage.submit(number, to: service.subscribe(), of: "user\(number)")
        }
        try stage.play { stage.verdicts.count == 40 }
        #expect(stage.verdicts.values.count { $0.outcome == .accepted } == 20)
    }

    @Test("a push service that hangs gets eight users' messages")
    func hangingService() throws {
        let service = try Service()
        let stage = try SenderStage([service])
        try service.simulator.perform(["do": "web-fault", "kind": "stall"])
        let browser = try service.subscribe()
        for number in 0..<100 { try stage.submit(number, to: browser, of: "user\(number)") }
        try stage.play { stage.verdicts.count == 92 }
        #expect(try service.report()["requests"] == 8)
        #expect(stage.verdicts.values.allSatisfy { $0.reason == WebPushVerdict.slow })
        stage.sender.close()
    }

    @Test func anExpiredTokenIsRenewedOnceAndTheMessageSentAgain() throws {
        let service = try Service()
        let stage = try SenderStage([service])
        stage.tokens.expired.insert(service.origin)
        stage.tokens.renews = true
        try stage.submit(1, to: service.subscribe())
        try stage.play { stage.verdicts.count == 1 }
        #expect(stage.verdicts[1]?.outcome == .accepted)
        #expect(try service.report()["requests"] == 2)
    }

    @Test func withoutATokenNothingIsSent() throws {
        let service = try Service()
        let stage = try SenderStage([service])
        stage.tokens.failure = Failure(.later(seconds: 2), "unable to lock", cause: "busy")
        try stage.submit(1, to: service.subscribe())
        #expect(throws: Failure.self) { try stage.sender.exchange() }
        #expect(stage.sender.backlog == 1)
        stage.tokens.failure = nil
        try stage.play { stage.verdicts.count == 1 }
        #expect(stage.verdicts[1]?.outcome == .accepted)
    }

    @Test func whatIsNotSentCanBeTakenBack() throws {
        let service = try Service()
        let stage = try SenderStage([service])
        let browser = try service.subscribe()
        for number in 0..<5 { try stage.submit(number, to: browser) }
        stage.sender.giveBackUnsent("the drainer ends")
        #expect(
            try stage.sender.exchange().map(\.verdict.outcome)
                == Array(repeating: .notSent, count: 5))
        #expect(stage.sender.backlog == 0)
        #expect(try service.report()["requests"] == 0)
    }

    @Test func aClosedSendersMessagesAreInDoubt() throws {
        let service = try Service()
        let stage = try SenderStage([service])
        try service.simulator.perform(["do": "web-fault", "kind": "stall"])
        try stage.submit(1, to: service.subscribe())
        for _ in 0..<200 where try service.report()["requests"] == 0 {
            #expect(try stage.sender.exchange().isEmpty)
            stage.sender.wait(upTo: .milliseconds(10))
        }
        stage.sender.close()
        #expect(try stage.sender.exchange().map(\.verdict.outcome) == [.noVerdict])
        #expect(stage.sender.backlog == 0)
    }

    @Test(
        "a push service that only knows HTTP/1.1 gets its messages over four connections",
        .enabled(if: FileManager.default.isExecutableFile(atPath: "/usr/bin/python3")))
    func oldService() throws {
        let service = try Service()
        let old = try OldService(like: service)
        let stage = try SenderStage([service], others: [old.origin])
        for number in 0..<50 {
            let browser = try Browser(endpoint: old.origin + "/push/\(number)").subscription
            try stage.submit(number, to: browser)
        }
        try stage.play { stage.verdicts.count == 50 }
        #expect(stage.verdicts.values.allSatisfy { $0.outcome == .accepted })
        #expect((2...4).contains(try old.end()))
    }

    @Test(
        "a browser whose push service only knows HTTP/1.1 gets one message after the other",
        .enabled(if: FileManager.default.isExecutableFile(atPath: "/usr/bin/python3")))
    func orderWithoutStreams() throws {
        let service = try Service()
        let old = try OldService(like: service)
        let stage = try SenderStage([service], others: [old.origin])
        let browser = try Browser(endpoint: old.origin + "/push/1").subscription
        for number in 0..<50 { try stage.submit(number, to: browser) }
        try stage.play { stage.verdicts.count == 50 }
        #expect(stage.verdicts.values.allSatisfy { $0.outcome == .accepted })
        #expect(try old.end() == 1)
    }
}
