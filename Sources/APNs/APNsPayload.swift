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
    package init(_ payload: Payload, type: PushType, limit: Int? = nil) throws(Failure) {
        let limit = limit ?? type.payloadLimit
        if type == .background {
            let aps = payload.aps
            let shown = ["alert", "badge", "sound"].filter { aps[$0] != nil }
            guard aps["content-available"] == .integer(1), shown.isEmpty else {
                throw invalid(
                    "BadPayload",
                    "a background push must have content-available 1 in aps and nothing to show")
            }
        }
        self.type = type
        let whole = payload.text
        if whole.count <= limit {
            bytes = whole
            isShortened = false
            return
        }
        guard let shortened = payload.cut(to: limit) else {
            throw Failure(
                .refused(.tooLarge),
                "the payload has \(whole.count) bytes, and may have \(limit)",
                cause: "PayloadTooLarge")
        }
        bytes = shortened.text
        isShortened = true
    }

    init(_ bytes: [UInt8], _ type: PushType) {
        self.type = type
        self.bytes = bytes
        isShortened = false
    }
}

func invalid(_ reason: String, _ sentence: String) -> Failure {
    Failure(.refused(.malformed), sentence, cause: reason)
}
