import Foundation
import JSON
import Messages
import Testing
import Turnstone

@Suite struct TemplateTests {
    private static let now = Timestamp(milliseconds: 1_795_262_400_000)

    private static func template(_ message: String, _ more: String = "") throws -> Template {
        let text = #"{"example": {"a": "A", "b": 2}, \#(more) "message": \#(message)}"#
        return try Template(TemplateText(event: "e", text: text))
    }

    @Test(
        "a placeholder becomes its value",
        arguments: [
            (#"{"title": "{a}"}"#, #"{"title":"x"}"#),
            (#"{"title": "<{a}{b}>"}"#, #"{"title":"<x7>"}"#),
            (#"{"badge": "{b}"}"#, #"{"badge":7}"#),
            (#"{"title": "{{a}}"}"#, #"{"title":"{a}"}"#),
            (
                #"{"data": {"l": ["{b}", {"m": "{a}"}], "n": 1.5}}"#,
                #"{"data":{"l":[7,{"m":"x"}],"n":1.5}}"#
            ),
            (#"{"title": "ä{a}€"}"#, #"{"title":"äx€"}"#),
        ])
    func filling(message: String, filled: String) throws {
        let result = try Self.template(message).filled(with: ["a": "x", "b": 7])
        #expect(String(decoding: JSON.text(.object(result)), as: UTF8.self) == filled)
    }

    @Test("an omitted value gets its default, or its member is omitted too")
    func defaults() throws {
        let template = try Self.template(
            #"{"title": "{a}", "badge": "{b}", "data": {"c": "{c}"}}"#,
            #""defaults": {"b": null, "c": "d"},"#)
        #expect(template.required == ["a"])
        #expect(template.optional == ["b", "c"])
        #expect(try template.filled(with: ["a": "x"]) == ["title": "x", "data": ["c": "d"]])
        #expect(
            try template.filled(with: ["a": "x", "b": .null, "c": "y"])
                == ["title": "x", "data": ["c": "y"]])
    }

    @Test(
        "a damaged template is refused with its name",
        arguments: [
            (#"{"title": "{x}"}"#, "the template e has an unknown placeholder {x}"),
            (#"{"data": {"deep": ["{ a }"]}}"#, "the template e has an unknown placeholder { a }"),
            (
                #"{"title": "{a"}"#,
                "the template e has an unmatched brace (write {{ or }} for a brace): {a"
            ),
            (
                #"{"title": "a}"}"#,
                "the template e has an unmatched brace (write {{ or }} for a brace): a}"
            ),
            ("7", "the template e: message must be an object"),
        ])
    func damaged(message: String, sentence: String) throws {
        #expect(throws: Failure.refused(.unacceptable, sentence)) {
            try Self.template(message)
        }
    }

    @Test(
        "a template is checked with its own example",
        arguments: [
            (#"{"title": "{a}"}"#, nil), (#"{"badge": "{b}"}"#, nil),
            (
                #"{"badge": "{a}"}"#,
                "the template e: badge must be 0 to 999999, or a string such as +1 or -1"
            ),
            (#"{"titel": "{a}", "title": "T"}"#, "the template e: unknown member titel"),
            (
                #"{"data": {}}"#,
                "the template e: title, subtitle, body, a loc_key, badge, sound or content_available is required"
            ),
        ] as [(String, String?)])
    func check(message: String, sentence: String?) throws {
        let template = try Self.template(message)
        do {
            try template.check(now: Self.now)
            #expect(sentence == nil)
        } catch { #expect(error == Failure.refused(.unacceptable, sentence ?? "")) }
    }

    @Test("the compiled templates are those of the folder")
    func shipped() throws {
        let folder = URL(filePath: #filePath).deletingLastPathComponent()
            .appending(path: "../../functions/events").standardized
        let source = try String(
            contentsOf: folder.appending(path: "Shipped.swift"), encoding: .utf8)
        let files = try FileManager.default.contentsOfDirectory(
            atPath: folder.appending(path: "templates").path)
        #expect(files.count == source.ranges(of: "TemplateText(").count)
        for file in files {
            let text = try String(
                contentsOf: folder.appending(path: "templates/\(file)"), encoding: .utf8)
            let indented = text.split(separator: "\n").map { "            \($0)" }
            #expect(source.contains(indented.joined(separator: "\n")), "\(file)")
            let event = String(file.dropLast(5))
            #expect(source.contains("event: \"\(event)\""))
            try Template(TemplateText(event: event, text: text)).check(now: Self.now)
        }
    }
}
