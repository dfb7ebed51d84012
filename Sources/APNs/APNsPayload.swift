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
    /// - Parameter limit: how many bytes it may have, where that is not its type's number.
    /// - Throws: a refusal whose cause is APNs' own reason, such as `PayloadTooLarge`.
    package init(_ payload: JSONValue, type: PushType, limit: Int? = nil) throws(Failure) {
        let limit = limit ?? type.payloadLimit
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
        if whole.count <= limit {
            bytes = whole
            isShortened = false
            return
        }
        guard let shortened = payload.cut(to: limit, { JSON.text($0).count }) else {
            throw Failure(
                .refused(.tooLarge),
                "the payload has \(whole.count) bytes, and may have \(limit)",
                cause: "PayloadTooLarge")
        }
        bytes = JSON.text(shortened)
        isShortened = true
    }

    fileprivate init(_ bytes: [UInt8], _ type: PushType) {
        self.type = type
        self.bytes = bytes
        isShortened = false
    }
}

/// A payload for many devices of which each has a badge of its own: it is encoded once, and each badge put in.
package struct APNsBadgedPayload {
    private let payload: JSONValue
    private let type: PushType
    /// What comes before the badge and after it; `nil` where the badge has to be put into the values.
    private let parts: (before: ArraySlice<UInt8>, after: ArraySlice<UInt8>)?

    /// - Parameter payload: an object with an object `aps` in it.
    package init(_ payload: JSONValue, type: PushType) {
        self.payload = payload
        self.type = type
        // A number that nobody means, where the badge will be.
        let mark = Int64.min + 4711
        let text = JSON.text(payload.replacingBadge(mark))
        let pattern = Array(String(mark).utf8)
        let places = text.indices.filter { text[$0...].starts(with: pattern) }
        parts =
            places.count == 1
            ? (text[..<places[0]], text[(places[0] + pattern.count)...]) : nil
    }

    /// - Throws: as ``APNsPayload/init(_:type:)``.
    package func payload(badge: Int) throws(Failure) -> APNsPayload {
        let longest = type.payloadLimit - 20
        guard type == .alert, let parts, parts.before.count + parts.after.count <= longest else {
            return try APNsPayload(payload.replacingBadge(Int64(badge)), type: type)
        }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(parts.before.count + parts.after.count + 20)
        bytes += parts.before
        bytes += String(badge).utf8
        bytes += parts.after
        return APNsPayload(bytes, type)
    }
}

func invalid(_ reason: String, _ sentence: String) -> Failure {
    Failure(.refused(.malformed), sentence, cause: reason)
}
