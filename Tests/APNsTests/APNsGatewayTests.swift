import Drain
import Testing
import Turnstone
import Unix

@testable import APNs

@Suite struct APNsGatewayTests {
    private static let accepted = APNsOutcome.accepted(uniqueID: nil)

    @Test func theFirstPushGoesAloneAndTheOthersTogether() throws {
        let stage = try GatewayStage()
        try stage.submit(10)
        #expect(stage.sender.backlog == 10)
        try stage.play { stage.server.requests.count == 1 }
        for _ in 0..<20 { try stage.play { true } }
        #expect(stage.server.requests == [1])
        stage.server.send(Frames.answer(1))
        try stage.play { stage.server.requests.count == 10 }
        for stream in stage.server.requests[1...] { stage.server.send(Frames.answer(stream)) }
        try stage.play { stage.sender.backlog == 0 }
        #expect(stage.outcomes == Array(repeating: Self.accepted, count: 10))
        #expect(stage.server.connections == 1)
    }

    @Test func theServersLimitIsRespected() throws {
        let stage = try GatewayStage(settings: Frames.settings(streams: 3))
        try stage.submit(10)
        try stage.play { stage.server.requests.count == 1 }
        stage.server.send(Frames.answer(1))
        try stage.play { stage.server.requests.count == 4 }
        for _ in 0..<20 { try stage.play { true } }
        #expect(stage.server.requests.count == 4)
    }

    @Test func requestsBeyondAGoAwayAreSentAgain() throws {
        let stage = try GatewayStage()
        try stage.submit(4)
        try stage.play { stage.server.requests.count == 1 }
        stage.server.send(Frames.answer(1))
        try stage.play { stage.server.requests.count == 4 }
        stage.server.send(Frames.goAway(last: 3) + Frames.answer(3))
        try stage.play { stage.verdicts.count == 2 }
        stage.server.drop()
        try stage.play { stage.server.requests.count == 5 }
        stage.server.send(Frames.answer(1))
        try stage.play { stage.server.requests.count == 6 }
        stage.server.send(Frames.answer(3))
        try stage.play { stage.sender.backlog == 0 }
        #expect(stage.outcomes == Array(repeating: Self.accepted, count: 4))
        #expect(stage.server.connections == 2)
    }

    @Test("what a GOAWAY leaves unprocessed is sent again in its order")
    func orderAfterGoAway() throws {
        let stage = try GatewayStage()
        try stage.submit(20)
        try stage.play { stage.server.requests.count == 1 }
        stage.server.send(Frames.answer(1))
        try stage.play { stage.arrived.count == 20 }
        stage.server.send(Frames.goAway(last: 3) + Frames.answer(3))
        try stage.play { stage.verdicts.count == 2 }
        stage.server.drop()
        try stage.play { stage.arrived.count == 21 }
        stage.server.send(Frames.answer(1))
        try stage.play { stage.arrived.count == 38 }
        #expect(stage.arrived == Array(1...20) + Array(3...20))
    }

    @Test("a GOAWAY on a connection's first push is followed by another connection")
    func firstGoAway() throws {
        let stage = try GatewayStage()
        try stage.submit(2)
        try stage.play { stage.server.requests.count == 1 }
        stage.server.send(Frames.goAway(last: 0))
        try stage.play { stage.server.requests.count == 2 }
        #expect(stage.verdicts.isEmpty)
        stage.server.send(Frames.answer(1))
        try stage.play { stage.server.requests.count == 3 }
        stage.server.send(Frames.answer(3))
        try stage.play { stage.sender.backlog == 0 }
        #expect(stage.outcomes == [Self.accepted, Self.accepted])
        #expect(stage.server.connections == 2)
    }

    @Test("APNs that says GOAWAY to each first push is left alone from the second time on")
    func eachFirstGoAway() throws {
        let stage = try GatewayStage()
        try stage.submit(2)
        for count in 1...2 {
            try stage.play { stage.server.requests.count == count }
            stage.server.send(Frames.goAway(last: 0))
        }
        try stage.play { stage.sender.backlog == 0 }
        #expect(stage.outcomes == [.notSent, .notSent])
        #expect(stage.sender.trouble?.reason == "the server sent GOAWAY")
        #expect(stage.sender.room == 0)
        #expect(stage.server.requests.count == 2)
    }

    @Test func aRefusedStreamIsSentAgainThreeTimes() throws {
        let stage = try GatewayStage()
        try stage.submit(1)
        for count in 1...4 {
            try stage.play { stage.server.requests.count == count }
            stage.server.send(Frames.reset(stage.server.requests[count - 1], code: 7))
        }
        try stage.play { stage.sender.backlog == 0 }
        #expect(stage.verdicts[1] == .notSent("refused by the server"))
        #expect(stage.server.connections == 1)
    }

    @Test func aLostConnectionLeavesNoVerdictAndTheRestIsSent() throws {
        let stage = try GatewayStage(settings: Frames.settings(streams: 2))
        try stage.submit(5)
        try stage.play { stage.server.requests.count == 1 }
        stage.server.send(Frames.answer(1))
        try stage.play { stage.server.requests.count == 3 }
        stage.server.drop()
        try stage.play { stage.server.requests.count == 4 }
        stage.server.send(Frames.answer(1))
        try stage.play { stage.server.requests.count == 5 }
        stage.server.send(Frames.answer(3))
        try stage.play { stage.sender.backlog == 0 }
        #expect(
            stage.outcomes == [Self.accepted, .noVerdict, .noVerdict, Self.accepted, Self.accepted])
    }

    @Test func anExpiredTokenIsRenewedOnANewConnection() throws {
        let tokens = GatewayStage.Tokens()
        let stage = try GatewayStage(tokens: tokens)
        try stage.submit(2)
        try stage.play { stage.server.requests.count == 1 }
        tokens.current = "two"
        stage.server.send(
            Frames.answer(1, status: "403", body: #"{"reason":"ExpiredProviderToken"}"#))
        try stage.play { stage.server.requests.count == 2 }
        #expect(stage.server.connections == 2)
        #expect(tokens.rejected == [nil, "one"])
        stage.server.send(Frames.answer(1))
        try stage.play { stage.server.requests.count == 3 }
        stage.server.send(Frames.answer(3))
        try stage.play { stage.sender.backlog == 0 }
        #expect(stage.outcomes == [Self.accepted, Self.accepted])
    }

    @Test func anExpiredTokenThatCannotBeRenewedStopsAllPushes() throws {
        let tokens = GatewayStage.Tokens()
        let stage = try GatewayStage(tokens: tokens)
        try stage.submit(3)
        try stage.play { stage.server.requests.count == 1 }
        stage.server.send(
            Frames.answer(1, status: "403", body: #"{"reason":"ExpiredProviderToken"}"#))
        try stage.play { stage.sender.backlog == 0 }
        #expect(stage.outcomes == Array(repeating: .notSent, count: 3))
        #expect(stage.sender.trouble?.reason == "ExpiredProviderToken")
        #expect(stage.sender.room == 0)
        #expect(stage.server.connections == 1)
        #expect(tokens.rejected == [nil, "one"])
    }

    @Test func aWrongKeyStopsTheQueue() throws {
        let stage = try GatewayStage()
        try stage.submit(3)
        try stage.play { stage.server.requests.count == 1 }
        stage.server.send(
            Frames.answer(1, status: "403", body: #"{"reason":"InvalidProviderToken"}"#))
        try stage.play { stage.sender.backlog == 0 }
        #expect(stage.outcomes == [.stopQueue, .notSent, .notSent])
        #expect(stage.server.requests.count == 1)
    }

    @Test func pushesInFlightGetTheirVerdictsAfterTheRestIsGivenBack() throws {
        let stage = try GatewayStage()
        try stage.submit(3)
        try stage.play { stage.server.requests.count == 1 }
        stage.sender.giveBackUnsent("ending")
        stage.server.send(Frames.answer(1))
        try stage.play { stage.sender.backlog == 0 }
        #expect(stage.outcomes == [Self.accepted, .notSent, .notSent])
        stage.sender.close()
    }

    @Test func withoutATokenNothingIsSent() throws {
        let tokens = GatewayStage.Tokens()
        let busy = Failure(.later(seconds: 2), "busy", cause: "busy")
        tokens.failure = busy
        let stage = try GatewayStage(tokens: tokens)
        try stage.submit(1)
        #expect(throws: busy) { try stage.play { false } }
        tokens.failure = nil
        try stage.play { stage.server.requests.count == 1 }
    }

    @Test func pushesToAnUnreachableGatewayAreGivenBack() throws {
        let port = try Socket.listen().port  // nobody listens there any more
        let settings = try #require(
            try Settings.made(["APNS_BASE_URL": "https://127.0.0.1:\(port)"]))
        let sender = try APNsSender(settings) { (_) throws(Failure) in
            try ProviderToken(settings, at: Timestamp(seconds: 0))
        }
        let token = try #require(DeviceToken("ab12"))
        let payload = try APNsPayload(Payload(aps: ["alert": "Hello"]), type: .alert)
        let request = try APNsRequest(
            token: token, id: pushID(notification: "1", token: token), payload: payload,
            bundle: "org.example.app", priority: 10)
        for number in 1...3 {
            sender.submit(request, in: .development, for: Numbered(number))
            sender.submit(request, in: .production, for: Numbered(-number))
        }
        var settled: [APNsGateway.Settled] = []
        for _ in 0..<1000 where sender.backlog > 0 {
            settled += try sender.step(pause: .milliseconds(10))
        }
        #expect(Set(settled.map(\.number)) == [1, 2, 3, -1, -2, -3])
        #expect(settled.allSatisfy { $0.verdict == .notSent("ECONNREFUSED") })
    }
}
