import Documents
import JSON
import Store
import TestSupport
import Testing
import Turnstone

/// Data that an app's own backend sends along, on its way to the phone.
@Suite struct PassedThroughTests {
    static let numbers =
        #"{"price":19.99,"whole":1.0,"big":1e3,"plus":1E+2,"zero":-0.0,"minus":-0,"five":5,"long":0.10000000000000000555,"list":[2.50,3]}"#

    private func world() throws -> World {
        let world = try World()
        // Without a push service each push is a file.
        world.hidden = [
            "APNS_KEY_PATH", "APNS_KEY_ID", "APNS_TEAM_ID", "APNS_BUNDLE_ID", "APNS_BASE_URL",
            "APNS_CA_FILE",
        ]
        return world
    }

    private func post(
        _ program: String, _ path: String, _ body: String, in world: World
    ) throws -> Answer {
        guard var event = world.message("POST", path).object else { throw TestFailure("no event") }
        event["body"] = .string(body)
        return try Answer(event: world.startBackend(program, .object(event)).end().stdout)
    }

    /// The text of every file of lines or a document whose path begins so.
    private func texts(_ start: String, in world: World) -> [String] {
        world.state.files().filter { name, _ in
            name.hasPrefix(start) && (name.hasSuffix(".json") || name.hasSuffix(".jsonl"))
        }.map { String(decoding: $0.value, as: UTF8.self) }
    }

    private func quieten(_ world: World) throws {
        var settings = Variables()
        settings.offer("TURNSTONE_STATE", world.state.path)
        try State(settings).users[UserID("ann")!].update { document in
            document.preferences.quietHours = QuietHours([
                "from": "11:00", "to": "13:00", "timeZone": "UTC",
            ])
        }
    }

    /// Sends a message to ann's device and returns its stored form and the push that was finally sent.
    private func passed(
        _ data: String, isHeld: Bool
    ) throws -> (stored: [String], sent: [String], world: World) {
        let world = try world()
        try world.give("ann", devices: 1...1)
        if isHeld { try quieten(world) }
        let body = #"{"users":["ann"],"body":"x","data":\#(data)}"#
        let answer = try post("notify", "/api/notify", body, in: world)
        #expect(answer.status == 202, "\(answer.body)")
        if isHeld { try world.run("deliver") }
        let stored = texts(isHeld ? "spool/apns/held/" : "spool/apns/ready/", in: world)
        if isHeld { try world.advance(seconds: 7200) }
        try world.run("deliver")
        return (stored, texts("outgoing/", in: world), world)
    }

    @Test(
        "the numbers of a message's data arrive digit for digit, at once and after quiet hours",
        arguments: [false, true])
    func message(isHeld: Bool) throws {
        let members = String(Self.numbers.dropFirst().dropLast())
        let (stored, sent, _) = try passed(Self.numbers, isHeld: isHeld)
        #expect(stored.contains { $0.contains(members) }, "\(stored)")
        #expect(sent.count == 1 && sent.allSatisfy { $0.contains(members) }, "\(sent)")
    }

    @Test(
        "a value nested as deeply as allowed is stored so that it can be read again",
        arguments: [false, true])
    func depth(isHeld: Bool) throws {
        let deep = String(repeating: "[", count: 62) + String(repeating: "]", count: 62)
        let (_, sent, world) = try passed(#"{"deep":\#(deep)}"#, isHeld: isHeld)
        #expect(sent.count == 1 && sent.allSatisfy { $0.contains(deep) })
        #expect(world.spooled().isEmpty && world.setAside.isEmpty)
        #expect(try world.notify(["users": ["ann"], "body": "next"]).status == 202)
    }

    @Test("the numbers and the depth of a Live Activity's state and attributes arrive as they came")
    func liveActivity() throws {
        let world = try world()
        world.variables["TURNSTONE_SERVER_KEY"] = World.serverKey
        var settings = Variables()
        settings.offer("TURNSTONE_STATE", world.state.path)
        let registry = try State(settings).registry
        for (number, kind) in [
            TokenKind.liveActivity(activity: "a", session: nil),
            .liveActivityStart(attributesType: "T"),
        ].enumerated() {
            var registration = Registration(try #require(DeviceToken(token(number))))
            registration.kind = kind
            let moment = Timestamp(milliseconds: world.now)
            _ = try registry.claim(registration, for: UserID("ann")!, at: moment)
        }
        let deep = String(repeating: "[", count: 62) + String(repeating: "]", count: 62)
        let members = String(Self.numbers.dropFirst().dropLast())
        let state = #"{\#(members),"deep":\#(deep)}"#
        for body in [
            #"{"activityId":"a","contentState":\#(state),"relevanceScore":0.50}"#,
            #"""
            {"event":"start","userId":"ann","attributesType":"T","attributes":\#(state),
             "contentState":\#(state),"alert":{"title":"t","body":"b"}}
            """#,
        ] {
            let answer = try post("live-activity", "/api/push/live-activity", body, in: world)
            #expect(answer.status == 202, "\(answer.body)")
        }
        try world.run("deliver")
        let sent = texts("outgoing/", in: world)
        #expect(sent.count == 2, "\(texts("receipts/", in: world))")
        for push in sent { #expect(push.contains(members) && push.contains(deep), "\(push)") }
        #expect(sent.contains { $0.contains(#""relevance-score":0.50"#) })
        #expect(world.setAside.isEmpty)
    }
}

extension World {
    /// Whatever a program has set aside because it could not read it.
    fileprivate var setAside: [String] {
        state.files().keys.filter { $0.contains("corrupt") || $0.contains("/failed/") }
    }
}
