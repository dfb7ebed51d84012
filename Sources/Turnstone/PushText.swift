extension JSONValue {
    /// The text of a push's alert that may be cut to make the push fit: `aps.alert`, or its `body` where that is a text.
    package var alertText: String? {
        let alert = object?["aps"]?.object?["alert"]
        return alert?.string ?? alert?.object?["body"]?.string
    }

    /// The same push with another text in its alert.
    package func replacingAlertText(_ text: String) -> JSONValue {
        guard var payload = object, var aps = payload["aps"]?.object else { return self }
        if var alert = aps["alert"]?.object {
            alert["body"] = .string(text)
            aps["alert"] = .object(alert)
        } else {
            aps["alert"] = .string(text)
        }
        payload["aps"] = .object(aps)
        return .object(payload)
    }

    /// The same push with another number for the app's icon, where it has one.
    package func replacingBadge(_ badge: Int64) -> JSONValue {
        guard var payload = object, var aps = payload["aps"]?.object else { return self }
        aps["badge"] = .integer(badge)
        payload["aps"] = .object(aps)
        return .object(payload)
    }

    /// Cuts the alert's text, if need be down to nothing, so that a push fits. The cut is between two characters as a
    /// reader sees them, and `…` takes the place of what is gone.
    ///
    /// - Parameters:
    ///   - limit: what the push may have in bytes.
    ///   - size: of a value in bytes, encoded as it is sent.
    /// - Returns: the push as it is where it fits; `nil` where it does not fit without its text either.
    package func cut(to limit: Int, _ size: (JSONValue) -> Int) -> JSONValue? {
        guard size(self) > limit else { return self }
        guard let text = alertText else { return nil }
        var room = limit - size(replacingAlertText("…"))
        guard room >= 0 else { return nil }
        var end = text.startIndex
        while end < text.endIndex {
            let next = text.index(after: end)
            // Characters are encoded one by one; two bytes are the quotes.
            room -= size(.string(String(text[end..<next]))) - 2
            guard room >= 0 else { break }
            end = next
        }
        return replacingAlertText(String(text[..<end]) + "…")
    }
}
