import Foundation
import Testing
import TurnstoneKit

/// 64 levels of arrays and objects are read and sent, of which the outermost object is one.
@Suite struct DepthTests {
    enum Kind: CaseIterable { case array, object }

    private static func value(_ levels: Int, _ kind: Kind) -> JSONValue {
        var value: JSONValue = 1
        for _ in 0..<levels { value = kind == .array ? [value] : ["a": value] }
        return value
    }

    private static func text(_ levels: Int, _ kind: Kind) -> String {
        let (begin, end) = kind == .array ? ("[", "]") : (#"{"a":"#, "}")
        return String(repeating: begin, count: levels) + "1" + String(repeating: end, count: levels)
    }

    @Test(arguments: Kind.allCases) func aValueHas64Levels(kind: Kind) throws {
        let decoder = JSONDecoder()
        let value = try decoder.decode(JSONValue.self, from: Data(Self.text(64, kind).utf8))
        #expect(value == Self.value(64, kind))
        #expect(throws: DecodingError.self) {
            try decoder.decode(JSONValue.self, from: Data(Self.text(65, kind).utf8))
        }
    }

    @Test(arguments: Kind.allCases) func aPayloadHas64Levels(kind: Kind) {
        for (levels, isRead) in [(63, true), (64, false)] {
            let payload = Data(#"{"deep":\#(Self.text(levels, kind))}"#.utf8)
            #expect(
                PushNotification(payload: payload)?.data["deep"]
                    == (isRead ? Self.value(levels, kind) : nil))
        }
    }

    @Test func aPushInMemoryHas64Levels() {
        for (levels, isRead) in [(63, true), (64, false)] {
            var value: Any = 1
            for _ in 0..<levels { value = [value] }
            #expect(
                PushNotification(userInfo: ["deep": value]).data["deep"]
                    == (isRead ? Self.value(levels, .array) : nil))
        }
    }

    /// The encoder would overflow the stack.
    @Test(arguments: Kind.allCases, [62, 63, 5000])
    func whatIsTooDeepIsNotSent(kind: Kind, levels: Int) async throws {
        let script = Script([
            .init(status: 202, body: Data(#"{"id": "m", "devices": 1}"#.utf8))
        ])
        // `data` and the request are two levels.
        let message = Message(title: "x", data: ["deep": Self.value(levels, kind)])
        if levels == 62 {
            _ = try await script.backend().send(message, to: .everyone)
        } else {
            await #expect(
                throws: TurnstoneError.invalid(
                    "more than 64 levels of arrays and objects cannot be sent")
            ) { try await script.backend().send(message, to: .everyone) }
        }
        #expect(await script.requests.count == (levels == 62 ? 1 : 0))
    }
}
