import Edge
import JSON
import Turnstone

/// A message with `{placeholders}` for an event's values.
///
/// It is a JSON object with these members:
/// - `message`: as `POST /api/notify` accepts it, without users and devices.
/// - `example`: a value for each placeholder.
/// - `defaults`: values that an event may omit. With `null`, a member that consists of that placeholder alone
///   is omitted too.
/// - `kind`: the kind by which users turn the message off; by default the event's name.
package struct Template {
    package let event: String
    package let kind: String
    private let message: JSONObject
    private let example: JSONObject
    private let defaults: JSONObject

    @export(interface)
    package init(_ text: TemplateText) throws(Failure) {
        event = text.event
        let json: JSONValue
        do throws(JSONError) { json = try JSON.parse(Array(text.text.utf8)) } catch {
            throw .unacceptable(error.sentence(about: "the template \(event)"))
        }
        guard let members = json.object else {
            throw .unacceptable("the template \(event) must be a JSON object")
        }
        var fields = Fields(members)
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

    /// The names of the values that an event must have.
    package var required: [String] {
        example.members.map { $0.name }.filter { defaults[$0] == nil }
    }

    /// The names of the values that an event may omit.
    package var optional: [String] { defaults.members.map { $0.name } }

    /// The message's members for an event's values.
    ///
    /// - Throws: malformed if a value is missing or unknown.
    @export(interface)
    package func filled(with values: JSONObject) throws(Failure) -> JSONObject {
        for name in required where values[name] == nil || values[name] == .null {
            throw .malformed("the event \(event) requires the value \(name)")
        }
        for value in values.members where !isKnown(value.name) {
            throw .malformed("the event \(event) has no value named \(value.name)")
        }
        let known = defaults.overlaid(with: values)
        var members = try Filling(values: known).filled(message)
        // A text in several languages that consists of a placeholder without a value is missing in all of
        // them.
        for name in AlertTranslations.names
        where members[name]?.object?.members.isEmpty == true && message[name] != .object([:]) {
            members[name] = nil
        }
        return members
    }

    /// Checks that the template makes a valid message from its own example.
    ///
    /// - Throws: unacceptable if it does not.
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

/// The text of a template that has not been parsed.
package struct TemplateText: Sendable {
    package let event: String
    package let text: String

    package init(event: String, text: String) {
        self.event = event
        self.text = text
    }
}

extension JSONObject {
    /// These members with those of `values` that are not `null`, which take precedence.
    fileprivate func overlaid(with values: JSONObject) -> JSONObject {
        var all = self
        for value in values.members where value.value != .null { all[value.name] = value.value }
        return all
    }
}
