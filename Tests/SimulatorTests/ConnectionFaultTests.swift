import HTTP2
import JSON
import TestSupport
import Testing
import Turnstone

@Suite struct ConnectionFaultTests {
    private let simulator: Simulator
    private let bearer: String

    init() throws {
        simulator = try Simulator()
        bearer = try Bearer(simulator).text()
    }

    private func fields() throws -> [(String, String)] {
        var push = try Push(simulator, bearer: bearer)
        push["apns-id"] = nil
        return push.fields
    }

    private func push(_ client: Client) throws -> ClientEvent {
        try client.ask(fields(), body: Push.body)
    }

    @Test(
        "so many handshakes fail, and the next one does not",
        arguments: ["close", "reset", "garble", "cut"])
    func handshakes(kind: String) throws {
        try simulator.perform(["do": "tls-fault", "kind": .string(kind), "count": 2])
        for _ in 0..<2 { #expect(throws: TestFailure.self) { try Client(simulator, .apns) } }
        #expect(try push(Client(simulator, .apns)).status == 200)
        #expect(try simulator.apns()["requests"] == 1)
    }

    @Test("failing handshakes end with all trouble")
    func mended() throws {
        try simulator.perform(["do": "tls-fault", "kind": "reset", "count": 100])
        try simulator.perform(["do": "clear"])
        #expect(try push(Client(simulator, .apns)).status == 200)
        #expect(throws: TestFailure.self) {
            try simulator.perform(["do": "tls-fault", "kind": "sneeze"])
        }
    }

    @Test("a connection hangs from a request on, which is not processed")
    func deafAfter() throws {
        let client = try Client(simulator, .apns)
        try simulator.perform(["do": "deaf", "after": 1])
        #expect(try push(client).status == 200)
        try client.send([fields(), fields()], body: Push.body)
        #expect(
            try simulator.perform(["do": "wait", "requests": 3, "ms": 300])["reached"] == false)
        #expect(try simulator.apns()["accepted"] == 1)
        try simulator.perform(["do": "clear"])
        #expect(try push(Client(simulator, .apns)).status == 200)
    }

    @Test("what came while nothing was read is read afterwards")
    func deaf() throws {
        let client = try Client(simulator, .apns)
        try simulator.perform(["do": "deaf"])
        try client.send([fields()], body: Push.body)
        #expect(try simulator.waitForPushes(1, milliseconds: 100) == false)
        #expect(try simulator.apns()["requests"] == 0)
        try simulator.perform(["do": "clear"])
        #expect(try client.events(since: 0).map(\.status) == [200])
    }

    @Test("a reset is one, at a push and at any moment")
    func resets() throws {
        let client = try Client(simulator, .apns)
        try simulator.perform(["do": "apns-fault", "kind": "drop", "reset": true, "count": 1])
        #expect(try push(client) == .lost(tag: 0, reason: "ECONNRESET"))

        let next = try Client(simulator, .apns)
        #expect(try push(next).status == 200)
        try simulator.perform(["do": "apns-fault", "kind": "stall"])
        try next.send([fields()], body: Push.body)
        #expect(try simulator.perform(["do": "wait", "requests": 3])["reached"] == true)
        try simulator.perform(["do": "drop", "reset": true])
        #expect(try next.events(since: 1) == [.lost(tag: 1, reason: "ECONNRESET")])
    }

    @Test("another number of streams comes with a later request")
    func plannedStreams() throws {
        let client = try Client(simulator, .apns)
        try simulator.perform(["do": "settings", "streams": 3, "after": 2])
        try simulator.perform(["do": "settings", "streams": 9, "after": 4])
        var seen: [Int] = []
        for _ in 0..<5 {
            #expect(try push(client).status == 200)
            seen.append(client.maximumStreams)
        }
        // An answer may come before or after the settings that its request has caused.
        #expect([3, 9].allSatisfy(seen.contains))
        #expect(seen.last == 9)
    }
}
