import Testing
import Turnstone
import Unix

@testable import HTTP2

@Suite struct ClientConnectionTests {
    @Test func answersFindTheirRequests() throws {
        let stage = try Stage()
        try stage.open()
        try stage.submit(3)
        try stage.play { stage.server.requests.count == 3 }
        stage.server.send(
            Frames.answer(5, status: "404", [("apns-id", "c")], body: "no")
                + Frames.answer(1, [("apns-id", "a"), ("apns-unique-id", "u")])
                + Frames.answer(3, status: "410", body: #"{"reason":"Unregistered"}"#))
        try stage.play { stage.events.count == 3 }
        #expect(stage.events.map(\.tag) == [3, 1, 2])
        #expect(stage.events.map { $0.answer?.status } == [404, 200, 410])
        #expect(stage.events[1].answer?.fields["apns-id"] == "a")
        #expect(stage.events[1].answer?.fields["apns-unique-id"] == "u")
        #expect(stage.events[1].answer?.fields["apns"] == nil)
        #expect(stage.events[0].answer?.body == Array("no".utf8))
        #expect(stage.client.openRequests == 0)
    }

    @Test func aPlaceIsUsedAgainWithoutWhatWasThere() throws {
        let stage = try Stage()
        try stage.open()
        try stage.submit(1, body: Array("first".utf8))
        try stage.play { stage.server.requests.count == 1 }
        stage.server.send(Frames.answer(1, status: "400", [("x", "y")], body: "long words"))
        try stage.play { stage.events.count == 1 }
        try stage.submit(1, body: Array("2".utf8))
        try stage.play { stage.server.requests.count == 2 }
        stage.server.send(Frames.answer(3))
        try stage.play { stage.events.count == 2 }
        #expect(stage.events[1].answer == .init(status: 200, fields: .init(), body: []))
        let bodies = stage.server.frames.filter { $0.type == 0 }.map(\.payload)
        #expect(bodies == [Array("first".utf8), Array("2".utf8)])
        #expect(stage.events[0].answer?.body == Array("long words".utf8))
    }

    @Test func aRequestMayHaveNoBody() throws {
        let stage = try Stage()
        try stage.open()
        try stage.submit(1, body: [])
        try stage.play { stage.server.requests == [1] }
        #expect(!stage.server.frames.contains { $0.type == 0 })
    }

    @Test func theServersLimitIsSeenAndKept() throws {
        let stage = try Stage(settings: Frames.settings(streams: 2))
        try stage.open()
        #expect(stage.client.maximumStreams == 2)
        try stage.submit(5)
        try stage.play { stage.server.requests.count == 2 }
        stage.server.send(Frames.settings(streams: 1))
        try stage.play { stage.client.maximumStreams == 1 }
        stage.server.send(Frames.answer(1) + Frames.answer(3))
        try stage.play { stage.server.requests.count == 3 }
        #expect(stage.events.count == 2)
    }

    @Test func anAnswerBeforeTheBodyWasReadCounts() throws {
        let stage = try Stage(settings: Frames.settings(window: 10))
        try stage.open()
        try stage.submit(1, body: [UInt8](repeating: 1, count: 4000))
        try stage.play { stage.server.frames.contains { $0.type == 0 } }
        stage.server.send(Frames.answer(1, status: "413"))
        try stage.play { stage.events.count == 1 }
        #expect(stage.events[0].answer?.status == 413)
    }

    @Test func interimAnswersAndTrailersAreNoAnswers() throws {
        let stage = try Stage()
        try stage.open()
        try stage.submit(1)
        try stage.play { stage.server.requests == [1] }
        stage.server.send(
            Frames.headers(1, status: "103", [("link", "x")], ends: false)
                + Frames.headers(1, status: "200", [("apns-id", "a")], ends: false)
                + Frames.frame(0, flags: 1, stream: 1, Array("b".utf8)))
        try stage.play { stage.events.count == 1 }
        #expect(stage.events[0].answer?.status == 200)
        #expect(stage.events[0].answer?.fields["link"] == nil)
        #expect(stage.events[0].answer?.body == Array("b".utf8))
    }

    @Test func anAnswersBodyIsCut() throws {
        var limits = ClientLimits()
        limits.answerBody = 10
        let stage = try Stage(limits: limits)
        try stage.open()
        try stage.submit(1)
        try stage.play { stage.server.requests == [1] }
        stage.server.send(
            Frames.headers(1, status: "500", ends: false)
                + Frames.frame(0, flags: 0, stream: 1, Array("12345678".utf8))
                + Frames.frame(0, flags: 1, stream: 1, Array("9abcdefg".utf8)))
        try stage.play { stage.events.count == 1 }
        #expect(stage.events[0].answer?.body == Array("123456789a".utf8))
    }

    @Test func thousandsOfRequestsCrossOneConnection() throws {
        let stage = try Stage()
        try stage.open()
        try stage.submit(3000, body: [UInt8](repeating: 7, count: 20))
        var answered = 0
        try stage.play {
            for stream in stage.server.requests[answered...] {
                stage.server.send(Frames.answer(stream))
            }
            answered = stage.server.requests.count
            return stage.events.count == 3000
        }
        #expect(Set(stage.events.map(\.tag)).count == 3000)
        #expect(stage.events.allSatisfy { $0.answer?.status == 200 })
        #expect(stage.server.connections == 1)
    }

    @Test func noMoreIsTakenThanTheServerHasRoomFor() throws {
        let stage = try Stage()
        try stage.open()
        let body = [UInt8](repeating: 32, count: 10_000)
        // The connection's window is 65,535 bytes until the server says otherwise.
        #expect(stage.client.credit == 65_535)
        try stage.submit(6, body: body)
        #expect(stage.client.credit == 5535)
        var fields = HeaderFields()
        fields.append(":method", "POST")
        fields.append(":scheme", "https")
        fields.append(":authority", "127.0.0.1")
        fields.append(":path", "/7")
        #expect(!stage.client.submit(tag: 7, fields, body: body, now: stage.now))
        try stage.play { stage.server.requests.count == 6 }
        #expect(stage.client.credit == 5535)
        stage.server.send(Frames.frame(8, flags: 0, stream: 0, [0, 0, 0x27, 0x10]))
        try stage.play { stage.client.credit == 15_535 }
        #expect(stage.client.submit(tag: 7, fields, body: body, now: stage.now))
        try stage.play { stage.server.requests.count == 7 }
    }

    @Test func whatIsGivenUpNeedsNoRoom() throws {
        let stage = try Stage(settings: Frames.settings(window: 1000))
        try stage.open()
        try stage.submit(3, body: [UInt8](repeating: 32, count: 5000))
        try stage.play { stage.client.credit == 65_535 - 15_000 }
        stage.server.send(Frames.reset(1, code: 8) + Frames.reset(3, code: 8))
        try stage.play { stage.events.count == 2 }
        #expect(stage.client.credit == 65_535 - 2000 - 5000)
    }
}
