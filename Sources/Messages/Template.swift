import Edge
import JSON
import Turnstone

/// How an event becomes a message: a message with `{placeholders}` for the event's values.
///
/// A file of JSON: `message` as `POST /api/notify` takes it; `example`, a value for each placeholder;
/// `defaults`, the values that an event may leave out, `null` for one without which its member is left out;
/// `kind`, by what users turn it off, where that is not the event's name.
package struct Template {
    package let event: String
    package let kind: String
    private let message: JSONObject
    private let example: JSONObject
    private let defaults: JSONObject

    package init(_ text: TemplateText) throws(Failure) {
        event = text.event
        var fields: Fields
        do throws(JSONError) {
            guard let members = try JSON.parse(Array(text.text.utf8)).object else {
                throw JSONError(line: 1, column: 1)
            }
            fields = Fields(members)
        } catch {
            throw .unacceptable(error.sentence(about: "the template \(event)"))
        }
        let name = event
        do throws(Failure) {
            kind = try fields.text("kind") ?? name
            example = try fields.object("example") ?? [:]
            defaults = try fields.object("defaults") ?? [:]
            message = try fields.requiredObject("message")
            try fields.finish()
        } catch { throw .unacceptable("the template \(name): \(error.sentence)") }
        try checkPlaceholders()
    }

    /// The values without which there is no message.
    package var required: [String] {
        example.members.map { $0.name }.filter { defaults[$0] == nil }
    }

    package var optional: [String] { defaults.members.map { $0.name } }

    /// The message's members for an event's values.
    ///
    /// - Throws: malformed where a value is missing, or one is none of the template's.
    package func filled(with values: JSONObject) throws(Failure) -> JSONObject {
        for name in required where values[name] == nil || values[name] == .null {
            throw .malformed("the event \(event) wants a value \(name)")
        }
        for value in values.members where !isKnown(value.name) {
            throw .malformed("the event \(event) has no value \(value.name)")
        }
        let known = defaults.overlaid(with: values)
        return try Filling(values: known).filled(message)
    }

    /// Whether the template makes a message of its own example.
    package func check(now: Timestamp) throws(Failure) {
        do throws(Failure) {
            var fields = Fields(try filled(with: example))
            _ = try Message(&fields, kind: kind, now: now)
            try fields.finish()
        } catch { throw .unacceptable("the template \(event): \(error.sentence)") }
    }

    private func isKnown(_ name: String) -> Bool { example[name] != nil || defaults[name] != nil }

    private func checkPlaceholders() throws(Failure) {
        for name in try placeholders(in: .object(message), of: event) where !isKnown(name) {
            throw .unacceptable("the template \(event) has an unknown placeholder {\(name)}")
        }
    }
}

/// A template as it is written.
package struct TemplateText: Sendable {
    package let event: String
    package let text: String

    package init(event: String, text: String) {
        self.event = event
        self.text = text
    }
}

extension JSONObject {
    /// `null` says nothing.
    fileprivate func overlaid(with values: JSONObject) -> JSONObject {
        var all = self
        for value in values.members where value.value != .null { all[value.name] = value.value }
        return all
    }
}
