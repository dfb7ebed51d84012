import Testing
import Turnstone
import Unix

@testable import HTTP2

@Suite struct BrokenConnectionTests {
    @Test(
        "a reset tells whether the request was processed",
        arguments: [
            (7, false),  // REFUSED_STREAM
            (8, true), (2, true), (0, true), (11, true),
        ])
    func reset(code: UInt32, isLost: Bool) throws {
        let stage = try Stage()
        try stage.open()
        try stage.submit(2)
        try stage.play { stage.server.requests.count == 2 }
        stage.server.send(Frames.reset(1, code: code) + Frames.answer(3))
        try stage.play { stage.events.count == 2 }
        #expect(stage.events[0].tag == 1)
        #expect(stage.events[0].isLost == isLost)
        #expect((stage.events[0] == .refused(tag: 1)) == !isLost)
        #expect(stage.client.state == .open)
    }

    @Test func whatIsAboveAGoAwaysLastStreamIsRefused() throws {
        let stage = try Stage()
        try stage.open()
        try stage.submit(4)
        try stage.play { stage.server.requests.count == 4 }
        stage.server.send(Frames.goAway(last: 3, debugData: #"{"reason":"Shutdown"}"#))
        try stage.play { stage.events.count == 2 }
        #expect(Set(stage.events.map(\.tag)) == [3, 4])
        #expect(stage.events.allSatisfy { $0 == .refused(tag: $0.tag) })
        #expect(stage.client.state == .ending)
        #expect(stage.client.goAway?.debugData == Array(#"{"reason":"Shutdown"}"#.utf8))
        #expect(!stage.client.submit(tag: 9, HeaderFields(), body: [], now: stage.now))

        stage.server.send(Frames.answer(1) + Frames.answer(3))
        try stage.play { stage.client.state.reason != nil }
        #expect(stage.events.suffix(2).map { $0.answer?.status } == [200, 200])
    }

    @Test func aClosedConnectionLeavesNoVerdict() throws {
        let stage = try Stage()
        try stage.open()
        try stage.submit(3)
        try stage.play { stage.server.requests.count == 3 }
        stage.server.send(Frames.answer(3))
        try stage.play { stage.events.count == 1 }
        stage.server.drop()
        try stage.play { stage.client.state.reason != nil && stage.events.count == 3 }
        #expect(stage.events.map(\.isLost) == [false, true, true])
        #expect(!stage.client.submit(tag: 9, HeaderFields(), body: [], now: stage.now))
    }

    @Test func whatTheServerSaidBeforeItStoppedListeningCounts() throws {
        let stage = try Stage()
        try stage.open()
        try stage.submit(3)
        try stage.play { stage.server.requests.count == 3 }
        stage.server.send(
            Frames.answer(1) + Frames.goAway(last: 3, debugData: #"{"reason":"Shutdown"}"#))
        try stage.server.step()
        stage.server.drop()
        // Nothing is read, and writes meet a closed connection.
        for _ in 0..<1000 where stage.client.state == .open {
            try stage.submit(1)
            stage.client.flush()
        }
        #expect(stage.client.state == .ending)
        try stage.play { stage.client.state.reason != nil }
        #expect(stage.events.first { $0.tag == 1 }?.answer?.status == 200)
        #expect(stage.events.contains { $0.tag == 2 && $0.isLost })
        #expect(stage.events.contains(.refused(tag: 3)))
    }

    @Test func nonsenseFromTheServerEndsTheConnection() throws {
        let stage = try Stage()
        try stage.open()
        try stage.submit(1)
        try stage.play { stage.server.requests.count == 1 }
        stage.server.send(Frames.frame(0, flags: 1, stream: 99, [1, 2, 3]))
        try stage.play { stage.client.state.reason != nil }
        #expect(stage.events.count == 1 && stage.events[0].isLost)
    }

    @Test func aRequestWithoutAnAnswerIsGivenUp() throws {
        var limits = ClientLimits()
        limits.silence = .seconds(1000)
        let stage = try Stage(limits: limits)
        try stage.open()
        try stage.submit(1)
        stage.now = stage.now + .seconds(20)
        try stage.submit(1)
        try stage.play { stage.server.requests.count == 2 }
        stage.now = stage.now + .seconds(10)
        try stage.play { stage.events.count == 1 }
        #expect(stage.events == [.lost(tag: 1, reason: "time-out")])
        // The server hears that nobody waits: RST_STREAM with CANCEL.
        try stage.play {
            stage.server.frames.contains { $0.type == 3 && $0.payload == [0, 0, 0, 8] }
        }
        stage.server.send(Frames.answer(1) + Frames.answer(3))
        try stage.play { stage.events.count == 2 }
        #expect(stage.events[1].answer?.status == 200)
        #expect(stage.client.openRequests == 0)
    }

    @Test func aSilentServerIsAskedForASignOfLife() throws {
        let stage = try Stage()
        try stage.open()
        try stage.submit(1)
        try stage.play { stage.server.requests.count == 1 }
        stage.now = stage.now + .seconds(10)
        try stage.play { stage.server.frames.contains { $0.type == 6 } }
        for _ in 0..<50 {  // the answer to the PING arrives, and keeps the connection
            try stage.play { true }
            ClientConnection.wait(for: [stage.client], upTo: .milliseconds(1))
        }
        stage.now = stage.now + .seconds(6)
        try stage.play { true }
        #expect(stage.client.state == .open)

        stage.server.answersPings = false
        stage.now = stage.now + .seconds(10)
        try stage.play { stage.server.frames.filter { $0.type == 6 }.count == 2 }
        stage.now = stage.now + .seconds(5)
        try stage.play { stage.client.state.reason != nil }
        #expect(stage.client.state == .closed("the server does not answer a PING"))
        #expect(stage.events.count == 1 && stage.events[0].isLost)
    }

    @Test(
        "a connection needs the right certificate",
        arguments: [
            (Certificates.otherName, "127.0.0.1", "IP address mismatch"),
            (Certificates.otherName, "localhost", "hostname mismatch"),
            (Certificates.expired, "127.0.0.1", "certificate has expired"),
        ])
    func badCertificate(certificate: String, host: String, reason: String) throws {
        let stage = try Stage(certificate: certificate, host: host)
        try stage.play { stage.client.state.reason != nil }
        #expect(stage.client.state == .closed(reason))
    }

    @Test func aCertificateNeedsSomeoneToTrust() throws {
        let stage = try Stage(trusted: Certificates.otherName)
        try stage.play { stage.client.state.reason != nil }
        #expect(stage.client.state == .closed("self-signed certificate"))
    }

    @Test func aNameIsTriedAtAllItsAddresses() throws {
        // ::1 comes first where it exists, and nobody listens there.
        let stage = try Stage(host: "localhost")
        try stage.open()
    }

    @Test func aServerThatDoesNotSpeakIsGivenUp() throws {
        let stage = try Stage()
        stage.server.shakesHands = false
        try stage.play { stage.server.connections == 1 }
        #expect(stage.client.state == .connecting)
        stage.now = stage.now + .seconds(10)
        try stage.play { stage.client.state.reason != nil }
        #expect(stage.client.state == .closed("time-out while connecting"))
    }

    @Test func aClosedPortIsSaid() throws {
        let port = try Socket.listen().port  // which is free again by now
        let client = try ClientConnection(to: "127.0.0.1", port: port, try .client(), now: .first)
        for _ in 0..<1000 where client.state == .connecting {
            ClientConnection.wait(for: [client], upTo: .milliseconds(10))
            client.step(now: .first)
        }
        #expect(client.state == .closed("ECONNREFUSED"))
    }

    @Test func aNameThatDoesNotExistMayExistLater() throws {
        let failure = try #require(throws: Failure.self) {
            try ClientConnection(to: "no-such-host.invalid", port: 443, try .client(), now: .first)
        }
        #expect(failure.disposition == .later(seconds: 5))
    }

    @Test func certificatesThatAreNotThereAreNamed() throws {
        let failure = try #require(throws: Failure.self) {
            try TLSContext.client(authorities: "/no/such/file.pem")
        }
        #expect(failure.disposition == .misconfigured)
        #expect(failure.sentence.contains("/no/such/file.pem"))
    }
}
