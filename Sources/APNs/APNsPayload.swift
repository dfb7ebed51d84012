import JSON
import Turnstone

/// A push's body, encoded once for all of a notification's devices.
package struct APNsPayload: Equatable, Sendable {
    package let type: PushType
    package let bytes: [UInt8]
    /// Whether the alert's text was cut to make the payload fit.
    package let isShortened: Bool

    /// Encodes a payload, with the alert's text cut at a character and ended by `…` where the whole is too
    /// long for its type.
    ///
    /// - Throws: a refusal whose cause is APNs' own reason, such as `PayloadTooLarge`.
    package init(_ payload: JSONValue, type: PushType) throws(Failure) {
        guard let aps = payload.object?["aps"]?.object else {
            throw invalid("PayloadEmpty", "the payload must be an object with an object aps in it")
        }
        if type == .background {
            let shown = ["alert", "badge", "sound"].filter { aps[$0] != nil }
            guard aps["content-available"] == .integer(1), shown.isEmpty else {
                throw invalid(
                    "BadPayload",
                    "a background push must have content-available 1 in aps and nothing to show")
            }
        }
        self.type = type
        let whole = JSON.text(payload)
        if whole.count <= type.payloadLimit {
            bytes = whole
            isShortened = false
            return
        }
        guard let shortened = shorten(payload, to: type.payloadLimit) else {
            throw Failure(
                .refused(.tooLarge),
                "the payload has \(whole.count) bytes, and may have \(type.payloadLimit)",
                cause: "PayloadTooLarge")
        }
        bytes = shortened
        isShortened = true
    }
}

/// The longest form that fits, if cutting the text alone is enough.
private func shorten(_ payload: JSONValue, to limit: Int) -> [UInt8]? {
    guard let text = payload.alertText else { return nil }
    let characters = Array(text)
    var best: [UInt8]?
    var fitting = 0
    var tooLong = characters.count
    // Text grows when it is encoded, each character by its own measure, so that trying beats reckoning.
    while tooLong - fitting > 1 {
        let middle = (fitting + tooLong) / 2
        let bytes = JSON.text(payload.replacingAlertText(String(characters[..<middle]) + "…"))
        if bytes.count <= limit {
            best = bytes
            fitting = middle
        } else {
            tooLong = middle
        }
    }
    return best
}

extension JSONValue {
    fileprivate var alertText: String? {
        let alert = object?["aps"]?.object?["alert"]
        return alert?.string ?? alert?.object?["body"]?.string
    }

    fileprivate func replacingAlertText(_ text: String) -> JSONValue {
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
}

func invalid(_ reason: String, _ sentence: String) -> Failure {
    Failure(.refused(.malformed), sentence, cause: reason)
}
