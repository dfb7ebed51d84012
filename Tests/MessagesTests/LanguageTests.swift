import Edge
import JSON
import Messages
import Testing
import Turnstone

/// Limits of texts in several languages.
@Suite struct LanguageTests {
    private func message(_ members: JSONObject) throws -> Message {
        var fields = Fields(members)
        let message = try Message(
            &fields, kind: "message", now: Timestamp(milliseconds: 1_795_262_400_000))
        try fields.finish()
        return message
    }

    /// Languages that do not exist, with the same text.
    private func texts(_ count: Int, _ text: String) -> JSONValue {
        var texts = JSONObject()
        for number in 0..<count {
            let letters = [number / 26, number % 26].map {
                Character(UnicodeScalar(UInt8($0 + 97)))
            }
            texts["q\(String(letters))"] = .string(text)
        }
        return .object(texts)
    }

    @Test("whatever language a user has, the payload fits", arguments: ["de", "ja", "fr", nil])
    func fitting(language: String?) throws {
        let push = try message([
            "title": ["en": "T", "de": .string(String(repeating: "Ü", count: 1000))],
            "body": [
                "en": .string(String(repeating: "x", count: 9000)),
                "ja": .string(String(repeating: "語", count: 9000)),
                "de": .string(String(repeating: "👨‍👩‍👧", count: 900)),
            ], "badge": "+1", "data": ["more": .string(String(repeating: "m", count: 500))],
        ]).push
        let (content, shown) = push.translated(for: language.flatMap { LanguageTag($0) })
        let fitting = try content.fitting(.add(1))
        #expect(fitting.apnsPayload.text.count <= 4096)
        #expect(fitting.apnsPayload.text.count > 3900)
        #expect(fitting.payload.alertText?.hasSuffix("…") == true)
        #expect(shown?.text == (language == "fr" ? "en" : language ?? "en"))
        #expect(fitting.translations.isEmpty)
    }

    @Test("texts that can never fit together are refused, whatever languages have them")
    func tooLong() {
        let half = JSONValue.string(String(repeating: "x", count: 2100))
        #expect(throws: Failure.self) {
            try message(["title": ["en": "a", "de": half], "subtitle": ["fr": half, "en": "b"]])
        }
    }

    @Test("there are limits of languages, and of all texts together")
    func limits() throws {
        #expect(try message(["title": texts(64, "t")]).push.translations["title"] != nil)
        #expect(throws: Failure.self) { try message(["title": texts(65, "t")]) }
        let long = String(repeating: "語", count: 100_000)
        // Each is cut to what APNs takes.
        #expect(try message(["body": texts(31, long)]).push.translations["body"]?.texts.count == 31)
        #expect(throws: Failure.self) { try message(["body": texts(33, long)]) }
    }

    @Test("a text in one language is for everybody")
    func one() throws {
        let push = try message(["title": ["de": "Hallo"]]).push
        #expect(push.translations.isEmpty)
        #expect(push.payload.aps["alert"] == ["title": "Hallo"])
    }
}
