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
        // The next message arrives.
        try stage.submit(2, to: browser)
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

    @Test("a refused token stops its origin, and no other")
    func refusedToken() throws {
        let bad = try Service()
        let good = try Service(like: bad)
        let stage = try SenderStage([bad, good])
        stage.tokens.expired.insert(bad.origin)
        let (lost, found) = (try bad.subscribe(), try good.subscribe())
        for number in 0..<40 {
            try stage.submit(number, to: number.isMultiple(of: 2) ? lost : found)
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
        let browser = try Browser(endpoint: old.origin + "/push/1").subscription
        for number in 0..<50 { try stage.submit(number, to: browser) }
        try stage.play { stage.verdicts.count == 50 }
        #expect(stage.verdicts.values.allSatisfy { $0.outcome == .accepted })
        #expect((2...4).contains(try old.end()))
    }
}
