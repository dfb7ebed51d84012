import HTTP2Server
import JSON
import TestSupport
import Testing
import Turnstone
import Unix

@testable import FCM

@Suite struct FCMSenderTests {
    private static let accepted = FCMOutcome.accepted(name: "m")

    @Test func theFirstMessageGoesAloneAndTheOthersTogether() throws {
        let stage = try SenderStage()
        try stage.submit(10)
        #expect(stage.sender.backlog == 10)
        try stage.play { stage.requests.count == 1 }
        try stage.pause()
        #expect(stage.requests.count == 1)
        let fields = stage.requests[0].request.fields
        #expect(fields[":method"] == "POST")
        #expect(fields[":path"] == "/v1/projects/our-project/messages:send")
        #expect(fields["authorization"] == "Bearer token-1")
        #expect(fields["content-type"] == "application/json")
        #expect(fields["accept-encoding"] == nil)
        stage.answer(0)
        try stage.play { stage.requests.count == 10 }
        for number in 1..<10 { stage.answer(number) }
        try stage.play { stage.sender.backlog == 0 }
        #expect(stage.outcomes == Array(repeating: Self.accepted, count: 10))
        #expect(stage.connections.count == 1)
        #expect(stage.fetches == 1)
    }

    @Test("as many connections are opened as the waiting messages need, and no more than allowed")
    func connections() throws {
        let stage = try SenderStage(streams: 3, ["FCM_CONNECTIONS": "3"])
        try stage.begin()
        try stage.submit(3, from: 2)
        try stage.play { stage.requests.count == 4 }
        try stage.pause()
        #expect(stage.sender.connections == 1)
        try stage.submit(2, from: 5)
        try stage.play { stage.requests.count == 6 }
        try stage.pause()
        #expect(stage.sender.connections == 2)
        try stage.submit(20, from: 7)
        try stage.play { stage.requests.count == 10 }
        try stage.pause()
        #expect(stage.requests.count == 10)
        #expect(stage.sender.connections == 3)
        #expect(stage.connections.count == 3)
        try stage.answerAll(from: 1)
        #expect(stage.outcomes == Array(repeating: Self.accepted, count: 26))
        #expect(stage.server.refusedStreams(listener: 0) == 0)
    }

    @Test("a device's messages stay on one connection while some are under way, and others go on")
    func course() throws {
        let stage = try SenderStage(streams: 3, ["FCM_CONNECTIONS": "3"])
        try stage.begin()
        try stage.submit(8, from: 2, to: 1)
        try stage.submit(5, from: 10)
        try stage.play { stage.requests.count == 9 }
        try stage.pause()
        let first = stage.requests[1..<4].map { $0.connection.number }
        let others = stage.requests[4...].map { $0.connection.number }
        #expect(Set(first).count == 1 && stage.requests.count == 9)
        #expect(!others.contains(first[0]))
        try stage.answerAll(from: 1)
        #expect(stage.outcomes == Array(repeating: Self.accepted, count: 14))
    }

    @Test func connectionsThatAreNeededAreOpenedAtTheSameTime() throws {
        let stage = try SenderStage()
        try stage.begin()
        try stage.submit(300, from: 2)
        _ = try stage.sender.exchange()
        // 100 messages are sent, and 200 wait.
        #expect(stage.sender.connections == 3)
    }

    @Test func aConnectionWhoseWindowIsFullIsBusy() throws {
        let stage = try SenderStage()
        try stage.begin()
        // HTTP/2's standard window of 65,535 bytes has room for some twenty of them.
        try stage.submit(50, from: 2, text: String(repeating: "a", count: 3000))
        _ = try stage.sender.exchange()
        #expect(stage.sender.connections == 2)
        try stage.play { stage.requests.count == 51 }
        for number in 1..<51 { stage.answer(number) }
        try stage.play { stage.sender.backlog == 0 }
        #expect(stage.outcomes == Array(repeating: Self.accepted, count: 51))
    }

    @Test("a message that is larger than the rest of a connection's window goes over another one")
    func largerThanTheRest() throws {
        let stage = try SenderStage(streams: 110)
        try stage.begin()
        // The pace allows a hundred by then.
        try stage.pause()
        // They leave less than 4,000 bytes of HTTP/2's standard window of 65,535, but room for small ones.
        let text = String(repeating: "a", count: 630 - stage.bodies[0].count)
        try stage.submit(100, from: 2, text: text)
        try stage.submit(1, from: 102, text: String(repeating: "a", count: 3900))
        _ = try stage.sender.exchange()
        #expect(stage.sender.connections == 2)
        try stage.answerAll(from: 1)
        #expect(stage.outcomes == Array(repeating: Self.accepted, count: 102))
    }

    @Test("connections that are sent away together before an answer are one such case")
    func goAwaysTogether() throws {
        let stage = try SenderStage(streams: 3, ["FCM_CONNECTIONS": "3"])
        try stage.begin()
        try stage.submit(9, from: 2)
        try stage.play { stage.requests.count == 10 }
        let opened = Set(stage.requests.map { $0.connection.number }).count
        var told: Set<Int> = []
        for (connection, _) in stage.requests where told.insert(connection.number).inserted {
            connection.goAway(last: 0, code: 0, debugData: [], closing: false)
        }
        try stage.answerAll(from: 10)
        #expect(opened == 3 && stage.outcomes == Array(repeating: Self.accepted, count: 10))
    }

    @Test func theRoomCountsConnectionsThatMayBeOpened() throws {
        let stage = try SenderStage()
        #expect(stage.sender.room == 1)
        try stage.submit(1)
        #expect(stage.sender.room == 0)
        try stage.play { stage.requests.count == 1 }
        #expect(stage.sender.room == 0)
        stage.answer(0)
        try stage.play { stage.sender.backlog == 0 }
        #expect(stage.sender.room == 256 + 100 + 300)
        try stage.submit(stage.sender.room, from: 2)
        #expect(stage.sender.room == 0)
    }

    @Test("messages beyond a GOAWAY are sent again on another connection")
    func goAway() throws {
        let stage = try SenderStage(["FCM_CONNECTIONS": "1"])
        try stage.submit(4)
        try stage.play { stage.requests.count == 1 }
        stage.answer(0)
        try stage.play { stage.requests.count == 4 }
        let (connection, request) = stage.requests[1]
        connection.goAway(last: request.stream, code: 0, debugData: [], closing: false)
        stage.answer(1)
        try stage.play { stage.requests.count == 6 }
        for number in 4..<6 { stage.answer(number) }
        try stage.play { stage.sender.backlog == 0 }
        #expect(stage.outcomes == Array(repeating: Self.accepted, count: 4))
        #expect(stage.connections.count == 2)
    }

    @Test("a GOAWAY on a connection's first message is followed by another connection")
    func firstGoAway() throws {
        let stage = try SenderStage()
        try stage.submit(2)
        try stage.play { stage.requests.count == 1 }
        stage.requests[0].connection.goAway(last: 0, code: 0, debugData: [], closing: false)
        try stage.play { stage.requests.count == 2 }
        #expect(stage.verdicts.isEmpty)
        stage.answer(1)
        try stage.play { stage.requests.count == 3 }
        stage.answer(2)
        try stage.play { stage.sender.backlog == 0 }
        #expect(stage.outcomes == [Self.accepted, Self.accepted])
        #expect(stage.connections.count == 2)
    }

    @Test("FCM that says GOAWAY to each first message is left alone from the second time on")
    func eachFirstGoAway() throws {
        let stage = try SenderStage()
        try stage.submit(2)
        for number in 0..<2 {
            try stage.play { stage.requests.count == number + 1 }
            stage.requests[number].connection.goAway(
                last: 0, code: 0, debugData: [], closing: false)
        }
        try stage.play { stage.sender.backlog == 0 }
        #expect(stage.outcomes == [.notSent, .notSent])
        #expect(stage.sender.trouble?.reason == "the server sent GOAWAY")
        #expect(stage.sender.room == 0)
        #expect(stage.requests.count == 2)
    }

    @Test(
        "a GOAWAY of the token server is followed by one more request", arguments: [(1, 2), (2, 2)])
    func tokenGoAway(count: Int, fetches: Int) throws {
        let stage = try SenderStage()
        stage.tokenGoAways = count
        try stage.submit(1)
        try stage.play { !stage.requests.isEmpty || stage.sender.backlog == 0 }
        #expect(stage.fetches == fetches)
        #expect(stage.requests.count == 2 - count)
        let reason: String? =
            count == 1 ? nil : "no access token: the server refused the request"
        #expect(stage.sender.trouble?.reason == reason)
    }

    @Test("a connection that ends slowly does not hold up the rest")
    func slowEnd() throws {
        let stage = try SenderStage(["FCM_CONNECTIONS": "1"])
        try stage.submit(2)
        try stage.play { stage.requests.count == 1 }
        stage.answer(0)
        try stage.play { stage.requests.count == 2 }
        let (connection, request) = stage.requests[1]
        connection.goAway(last: request.stream, code: 0, debugData: [], closing: false)
        try stage.pause()
        try stage.submit(1, from: 3)
        try stage.play { stage.requests.count == 3 }
        stage.answer(2)
        try stage.play { stage.verdicts[3]?.status == 200 }
        stage.answer(1)
        try stage.play { stage.sender.backlog == 0 }
        #expect(stage.outcomes == Array(repeating: Self.accepted, count: 3))
    }

    @Test func aRefusedStreamIsSentAgainThreeTimes() throws {
        let stage = try SenderStage()
        try stage.submit(1)
        for count in 1...4 {
            try stage.play { stage.requests.count == count }
            let (connection, request) = stage.requests[count - 1]
            connection.reset(request.stream, code: 7)
        }
        try stage.play { stage.sender.backlog == 0 }
        #expect(stage.verdicts[1] == .notSent("refused by the server"))
    }

    @Test("a lost answer leaves no verdict, and the rest is sent")
    func lostConnection() throws {
        let stage = try SenderStage(streams: 2, ["FCM_CONNECTIONS": "1"])
        try stage.submit(5)
        try stage.play { stage.requests.count == 1 }
        stage.answer(0)
        try stage.play { stage.requests.count == 3 }
        stage.requests[1].connection.drop()
        try stage.play { stage.requests.count == 5 }
        for number in 3..<5 { stage.answer(number) }
        try stage.play { stage.sender.backlog == 0 }
        #expect(
            stage.outcomes == [Self.accepted, .noVerdict, .noVerdict, Self.accepted, Self.accepted])
    }

    @Test("connections that end together after answers are replaced without a long pause")
    func allLost() throws {
        let stage = try SenderStage(streams: 1, ["FCM_CONNECTIONS": "3"])
        try stage.submit(1)
        try stage.play { stage.requests.count == 1 }
        stage.answer(0)
        try stage.submit(6, from: 2)
        try stage.play { stage.requests.count == 4 }
        for number in 1..<4 { stage.answer(number) }
        try stage.play { stage.requests.count == 7 }
        for number in 4..<7 { stage.requests[number].connection.drop() }
        try stage.play { stage.sender.backlog == 0 }
        #expect(stage.sender.trouble == nil)
        try stage.submit(1, from: 8)
        let start = Instant.now
        try stage.play { stage.requests.count == 8 }
        #expect(Instant.now - start < .milliseconds(900))
    }

    @Test("an expired token is renewed once, and every message that it went with is sent again")
    func expired() throws {
        let stage = try SenderStage()
        try stage.submit(4)
        try stage.play { stage.requests.count == 1 }
        stage.answer(0)
        try stage.play { stage.requests.count == 4 }
        for number in 1..<4 {
            stage.answer(number, 401, fcmError(401, info: "ACCESS_TOKEN_EXPIRED"))
        }
        try stage.play { stage.requests.count == 5 }
        #expect(stage.bearer(4) == "Bearer token-2")
        stage.answer(4)
        try stage.play { stage.requests.count == 7 }
        #expect(stage.bearer(5) == "Bearer token-2")
        // In their order.
        #expect(stage.bodies[4..<7] == stage.bodies[1..<4])
        for number in 5..<7 { stage.answer(number) }
        try stage.play { stage.sender.backlog == 0 }
        #expect(stage.outcomes == Array(repeating: Self.accepted, count: 4))
        #expect(stage.fetches == 2)
    }

    @Test("a renewed token that is refused too stops everything for a while")
    func refusedTwice() throws {
        let stage = try SenderStage()
        try stage.submit(3)
        for number in 0..<2 {
            try stage.play { stage.requests.count == number + 1 }
            stage.answer(number, 401, fcmError(401))
        }
        try stage.play { stage.sender.backlog == 0 }
        #expect(stage.outcomes == Array(repeating: .notSent, count: 3))
        #expect(stage.sender.trouble?.reason == "FCM refuses a new access token")
        #expect(stage.sender.room == 0)
        #expect(stage.fetches == 2)
    }

    @Test("the token of an app that Google has no key for stops no other, and no token is renewed")
    func thirdParty() throws {
        let stage = try SenderStage()
        try stage.submit(3)
        try stage.play { stage.requests.count == 1 }
        stage.answer(0, 401, fcmError(401, code: "THIRD_PARTY_AUTH_ERROR"))
        try stage.play { stage.requests.count == 3 }
        for number in 1...2 { stage.answer(number, 200, ["name": "projects/p/messages/1"]) }
        try stage.play { stage.sender.backlog == 0 }
        #expect(stage.outcomes.first == .foreign)
        #expect(stage.verdicts[1]?.reason == "THIRD_PARTY_AUTH_ERROR")
        #expect(stage.outcomes.dropFirst().allSatisfy { $0 != .notSent && $0 != .stopQueue })
        #expect(stage.fetches == 1)
    }

    @Test("a refused account stops everything, and says why")
    func refusedAccount() throws {
        let stage = try SenderStage()
        let body: JSONValue = [
            "error": "invalid_grant", "error_description": "Invalid JWT Signature.",
        ]
        stage.tokenAnswer = ServerAnswer(status: 400, body: JSON.text(body))
        try stage.submit(2)
        try stage.play { stage.sender.backlog == 0 }
        #expect(stage.outcomes == [.notSent, .notSent])
        #expect(
            stage.sender.trouble?.reason
                == "no access token: invalid_grant (Invalid JWT Signature.)")
        #expect(stage.requests.isEmpty)
        try stage.submit(1, from: 3)
        try stage.play { stage.sender.backlog == 0 }
        #expect(stage.fetches == 1)
    }

    @Test("a token server without HTTP/2 is named as such")
    func oldTokenServer() throws {
        let stage = try SenderStage()
        let old = try OldServer(like: stage)
        let tokens = try old.tokens()
        let end = Instant.now + .seconds(10)
        while tokens.trouble == nil, Instant.now < end {
            var until = Instant.last
            try tokens.step(isNeeded: true, until: &until, now: Instant.now)
            sleep(for: .milliseconds(10))
        }
        #expect(
            tokens.trouble?.reason
                == "no access token: the token server speaks only HTTP/1.1; HTTP/2 is required")
    }

    @Test("the token server may be slow: nothing waits for it")
    func slowTokenServer() throws {
        let stage = try SenderStage()
        stage.answersTokens = false
        try stage.submit(1)
        try stage.play { stage.fetches == 1 }
        for _ in 0..<20 {
            let start = Instant.now
            _ = try stage.sender.exchange()
            #expect(Instant.now - start < .milliseconds(200))
        }
        #expect(stage.sender.backlog == 1)
        #expect(stage.sender.trouble == nil)
        stage.sender.giveBackUnsent("ending")
        try stage.play { stage.sender.backlog == 0 }
        #expect(stage.outcomes == [.notSent])
    }

    @Test("no more messages go than the pace allows")
    func pace() throws {
        let stage = try SenderStage(["FCM_MESSAGES_PER_MINUTE": "240"])
        try stage.submit(1)
        try stage.play { stage.requests.count == 1 }
        stage.answer(0)
        let start = Instant.now
        try stage.submit(6, from: 2)
        try stage.play { stage.requests.count == 7 }
        // Three went with the first second's allowance, the others a quarter of a second apart.
        #expect(Instant.now - start > .milliseconds(500))
        #expect(stage.connections.count == 1)
    }

    @Test func messagesToAnUnreachableServerAreGivenBack() throws {
        let port = try Socket.listen().port  // nobody listens there any more
        let stage = try SenderStage(["FCM_BASE_URL": "https://127.0.0.1:\(port)"])
        try stage.submit(3)
        try stage.play { stage.sender.backlog == 0 }
        #expect(stage.outcomes == Array(repeating: .notSent, count: 3))
        #expect(stage.verdicts[1]?.reason == "ECONNREFUSED")
        #expect(stage.sender.trouble?.reason == "ECONNREFUSED")
        #expect(stage.sender.room == 0)
    }

    @Test func closingLeavesNoVerdictForMessagesInFlight() throws {
        let stage = try SenderStage()
        try stage.submit(2)
        try stage.play { stage.requests.count == 1 }
        stage.sender.close()
        try stage.play { stage.sender.backlog == 0 }
        #expect(stage.outcomes == [.noVerdict, .notSent])
    }
}
