import JSON
import Turnstone

/// The body of a push, encoded once for all devices of a notification.
package struct APNsPayload: Equatable, Sendable {
    package let type: PushType
    package let bytes: [UInt8]
    /// Whether the alert's text was cut to make the payload fit.
    package let isShortened: Bool

    /// Encodes a payload. If it is too long, its alert text is cut between two characters and ends with `…`.
    ///
    /// - Parameter limit: the largest number of bytes; `nil` for the push type's limit.
    /// - Throws: a refusal whose cause is the reason that APNs would give, such as `PayloadTooLarge`.
    package init(_ payload: Payload, type: PushType, limit: Int? = nil) throws(Failure) {
        let limit = limit ?? type.payloadLimit
        if type == .background {
            let aps = payload.aps
            let shown = ["alert", "badge", "sound"].filter { aps[$0] != nil }
            guard aps["content-available"] == .integer(1), shown.isEmpty else {
                throw invalid(
                    "BadPayload",
                    "a background push must have content-available 1 and no alert, badge or sound")
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
                "the payload has \(whole.count) bytes; the limit is \(limit)",
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
