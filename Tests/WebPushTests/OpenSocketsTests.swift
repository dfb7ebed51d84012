import TestSupport
import Testing
import Turnstone
import Unix

@testable import WebPush

/// Sockets that gather what libcurl writes to them.
@Suite struct OpenSocketsTests {
    /// A connection over loopback.
    private final class Line {
        let near: Socket
        let far: Socket

        struct NoConnection: Error {}

        init() throws {
            let door = try Socket.listen()
            let addresses = try SocketAddress.resolve("127.0.0.1", port: door.port)
            near = try Socket.connect(to: try #require(addresses.first))
            for _ in 0..<200 {
                if let accepted = try door.accept() {
                    far = accepted
                    return
                }
                sleep(for: .milliseconds(5))
            }
            throw NoConnection()
        }

        /// Reads what has arrived after a while; `nil` if nothing has.
        func arrived() throws -> [UInt8]? {
            sleep(for: .milliseconds(20))
            return try far.read(upTo: 100)
        }
    }

    private func origin(isWaiting: Bool) throws -> OriginState {
        let origin = OriginState("https://push.example.net", mayBePrivate: false)
        guard isWaiting else { return origin }
        let content = PushContent(
            type: .alert, priority: 10, collapseID: nil, payload: Payload(aps: ["alert": "x"]))
        let request = WebPushRequest(
            try WebPushMessage(content, home: "https://example.org"),
            to: try Browser(endpoint: "https://push.example.net/a").subscription, of: nil,
            expires: Timestamp(seconds: 1_800_000_000))
        origin.append(OriginState.Item(request: request, push: origin))
        return origin
    }

    @Test("what is written to a push service for which messages wait leaves in one piece")
    func gathering() throws {
        let line = try Line()
        let sockets = OpenSockets()
        sockets.add(line.near.number, to: try origin(isWaiting: true))
        var meanwhile: Result<[UInt8]?, any Error>?
        sockets.gatheringWrites {
            line.near.send([1, 2])
            line.near.send([3])
            meanwhile = Result { try line.arrived() }
        }
        #expect(try #require(meanwhile).get() == nil)
        #expect(try line.arrived() == [1, 2, 3])
        line.near.send([4])
        #expect(try line.arrived() == [4])
    }

    @Test func othersAreLeftAlone() throws {
        let line = try Line()
        let sockets = OpenSockets()
        sockets.add(line.near.number, to: try origin(isWaiting: false))
        var meanwhile: [UInt8]?
        sockets.gatheringWrites {
            line.near.send([1])
            meanwhile = (try? line.arrived()) ?? nil
        }
        #expect(meanwhile == [1])
    }
}
