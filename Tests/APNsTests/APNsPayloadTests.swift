import JSON
import Testing
import Turnstone

@testable import APNs

@Suite struct APNsPayloadTests {
    @Test func aPayloadThatFitsIsUnchanged() throws {
        let payload = Payload(aps: ["alert": ["body": "Hello"]], data: ["x": [1, 2]])
        let made = try APNsPayload(payload, type: .alert)
        #expect(!made.isShortened)
        #expect(try JSON.parse(made.bytes) == payload.json)
    }

    @Test(
        "a long text is cut at a character",
        arguments: [
            "a", "é", "e\u{301}", "👩‍👩‍👧‍👦", "🇩🇪", "\u{7}", "\"", "囲",
        ])
    func cut(character: String) throws {
        for object in [true, false] {
            let text = String(repeating: character, count: 5000)
            let alert: JSONValue = object ? ["title": "T", "body": .string(text)] : .string(text)
            let made = try APNsPayload(
                Payload(aps: ["alert": alert, "badge": 1], data: ["k": "v"]), type: .alert)
            #expect(made.isShortened)
            #expect(made.bytes.count <= 4096)
            // One more character would not fit.
            #expect(made.bytes.count > 4096 - JSON.text(.string(character)).count)
            let parsed = try JSON.parse(made.bytes)
            let shown = parsed.object?["aps"]?.object?["alert"]
            let body = try #require(shown?.string ?? shown?.object?["body"]?.string)
            #expect(body.hasSuffix("…"))
            #expect(body.dropLast().allSatisfy { String($0) == character })
            #expect(parsed.object?["k"] == "v")
        }
    }

    @Test("the limit depends on the type", arguments: [(PushType.alert, 4096), (.voip, 5120)])
    func limit(type: PushType, limit: Int) throws {
        let frame = JSON.text(["aps": [:], "x": ""]).count
        for (extra, fits) in [(0, true), (1, false)] {
            let text = String(repeating: "a", count: limit - frame + extra)
            let payload = Payload(aps: [:], data: ["x": .string(text)])
            if fits {
                #expect(try APNsPayload(payload, type: type).bytes.count == limit)
            } else {
                let failure = #expect(throws: Failure.self) { try APNsPayload(payload, type: type) }
                #expect(failure?.cause == "PayloadTooLarge")
                #expect(failure?.disposition == .refused(.tooLarge))
            }
        }
    }

    @Test func aPayloadThatDoesNotFitWithoutItsTextIsRefused() {
        let long = String(repeating: "a", count: 4096)
        #expect(throws: Failure.self) {
            try APNsPayload(
                Payload(aps: ["alert": "short"], data: ["x": .string(long)]), type: .alert)
        }
    }

    @Test(
        "inserting a device's badge gives the same bytes as encoding it",
        arguments: [
            Payload(aps: ["alert": "Hello", "badge": 3, "sound": "default"], data: ["x": 1]),
            Payload(aps: ["alert": "Hello"]), Payload(aps: [:]),
            Payload(aps: ["alert": "Hello"], data: ["x": -9_223_372_036_854_771_097]),
            Payload(aps: ["alert": .string(String(repeating: "é", count: 3000)), "badge": 1]),
        ], [0, 7, 1_000_000])
    func badges(payload: Payload, badge: Int) throws {
        let whole = try APNsPayload(payload.with(badge: Int64(badge)), type: .alert)
        #expect(try APNsBadgedPayload(payload, type: .alert).payload(badge: badge) == whole)
    }
}
