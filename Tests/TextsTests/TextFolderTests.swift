import Foundation
import JSON
import TestSupport
import Testing
import Texts
import Turnstone

/// The texts of turn notices: those that come with the program, and those of an installation's own folder.
@Suite struct TextFolderTests {
    /// The files that an installation gets.
    private static let shipped = URL(
        fileURLWithPath: "\(#filePath)/../../../functions/check-turns/texts"
    ).standardizedFileURL.path

    private func folder(_ path: String, _ problems: Problems = Problems()) throws -> TextFolder {
        var variables = Variables()
        variables.offer("TURN_TEXTS", path)
        return TextFolder(try TurnSettings(variables)) { problems.sentences.append($0.sentence) }
    }

    private final class Problems { var sentences: [String] = [] }

    @Test("no language lacks a text")
    func complete() throws {
        let files = try FileManager.default.contentsOfDirectory(atPath: Self.shipped)
        #expect(files.sorted() == ["de", "en", "fr", "ja", "ko", "zh-Hans"].map { "\($0).json" })
        try folder(Self.shipped).check()
        let problems = Problems()
        let folder = try folder(Self.shipped, problems)
        #expect(folder.texts(for: LanguageTag("en")) == .english)
        for language in ["de", "fr", "ja", "ko", "zh-Hans"] {
            let texts = folder.texts(for: LanguageTag(language))
            for name in TurnTexts.Name.allCases {
                #expect(texts[name] != TurnTexts.english[name], "\(language): \(name.text)")
            }
        }
        #expect(problems.sentences == [])
    }

    @Test(
        "a player gets the nearest language, otherwise English",
        arguments: [
            ("de-AT", "Du bist am Zug!"), ("zh-TW", "围棋：轮到你了"), ("fr", "À vous de jouer au go !"),
            ("it", "Your turn in Go!"), (nil, "Your turn in Go!"),
        ])
    func nearest(language: String?, title: String) throws {
        let texts = try folder(Self.shipped).texts(for: language.flatMap { LanguageTag($0) })
        #expect(texts[.title] == title)
    }

    @Test("without the folder, everything is English")
    func missing() throws {
        let problems = Problems()
        let folder = try folder("/nonexistent", problems)
        for _ in 0..<2 { #expect(folder.texts(for: LanguageTag("de")) == .english) }
        #expect(problems.sentences.count == 1)
        #expect(throws: Failure.self) { try folder.check() }
        let standard = TextFolder(try TurnSettings(Variables())) { _ in }
        #expect(standard.texts(for: nil)[.title] == "Your turn in Go!")
    }

    @Test(
        "what cannot be used is English, and is named",
        arguments: [
            (#"{"title": 7}"#, "title must be a text"), ("{}", "title is missing"),
            (#"{"more": "x"}"#, "title is missing"), ("[]", "must hold a JSON object"),
            (#"{"title": "a\nb"}"#, "on one line"), (#"{"title": "{x}"}"#, "without { and }"),
            (
                #"{"title": "T", "one_game": "x"}"#,
                "one_game must be a text of at most 256 bytes with {game}"
            ),
            (#"{"title": "T", "one_game": "{game} {game}"}"#, "one_game must"),
            ("{", "texts/de.json"),
        ])
    func damaged(text: String, problem: String) throws {
        let own = TemporaryFolder()
        try own.write(text, to: "texts/de.json")
        let problems = Problems()
        let folder = try folder("\(own.path)/texts", problems)
        let texts = folder.texts(for: LanguageTag("de"))
        #expect(texts[.oneGame] == TurnTexts.english[.oneGame])
        #expect(problems.sentences.contains { $0.contains(problem) }, "\(problems.sentences)")
        #expect(throws: Failure.self) { try folder.check() }
    }

    @Test("a file that is replaced is read again")
    func replaced() throws {
        let own = TemporaryFolder()
        try own.write(#"{"title": "Eins"}"#, to: "texts/de.json")
        let folder = try folder("\(own.path)/texts")
        #expect(folder.texts(for: LanguageTag("de"))[.title] == "Eins")
        try own.write(#"{"title": "Zwei und drei"}"#, to: "texts/de.json")
        #expect(folder.texts(for: LanguageTag("de"))[.title] == "Zwei und drei")
    }

    @Test("a notice fits into a push, whatever the texts and names")
    func fits() throws {
        let longest = String(repeating: "\"", count: 240)
        var members = JSONObject()
        for name in TurnTexts.Name.allCases {
            members[name.text] = .string(longest + (name.placeholder ?? ""))
        }
        let texts = TurnTexts(members) { Issue.record("\($0)") }
        #expect(texts.filled(.games, "7") == longest + "7")
    }
}
