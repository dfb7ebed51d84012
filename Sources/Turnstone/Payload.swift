/// The data that the app receives with a push: a JSON object with an object `aps` in it.
///
/// Apple: *Generating a remote notification*.
package struct Payload: Equatable, Sendable {
    /// All members, `aps` among them.
    package private(set) var members: JSONObject

    /// - Parameter data: the app's own members; none is called `aps`.
    package init(aps: JSONObject, data: JSONObject = [:]) {
        members = ["aps": .object(aps)]
        for member in data.members { members.append(member.name, member.value) }
    }

    /// `nil` for anything but an object with an object `aps` in it.
    package init?(_ json: JSONValue) {
        guard let members = json.object, members["aps"]?.object != nil else { return nil }
        self.members = members
    }

    package var json: JSONValue { .object(members) }

    package var aps: JSONObject {
        get { members["aps"]?.object ?? [:] }
        set { members["aps"] = .object(newValue) }
    }

    /// A member of the app's own.
    package subscript(name: String) -> JSONValue? {
        get { members[name] }
        set { members[name] = newValue }
    }

    /// The number for the app's icon.
    package var badge: Int64? { aps["badge"]?.count }

    /// The same payload with another number for the app's icon.
    package func with(badge: Int64) -> Payload {
        var payload = self
        payload.aps["badge"] = .integer(badge)
        return payload
    }

    /// The alert's members; `nil` if it is a text or missing.
    package var alert: JSONObject? {
        get { aps["alert"]?.object }
        set { aps["alert"] = newValue.map { .object($0) } }
    }

    /// The alert's text, which may be cut to make the payload fit: `aps.alert`, or its `body` if that is a
    /// text.
    package var alertText: String? {
        aps["alert"]?.string ?? alert?["body"]?.string
    }

    /// The same payload with another alert text.
    package func with(alertText text: String) -> Payload {
        var payload = self
        if alert != nil {
            payload.alert?["body"] = .string(text)
        } else {
            payload.aps["alert"] = .string(text)
        }
        return payload
    }

    /// Whether the user has to see it now: a time-sensitive or critical alert.
    package var isUrgent: Bool {
        let level = aps["interruption-level"]?.string
        return level == "time-sensitive" || level == "critical"
    }
}
