import JSON
import Turnstone

/// A payload for many devices that each have a badge of their own. It is encoded once, and each badge is
/// inserted into the bytes.
package struct APNsBadgedPayload {
    private let payload: Payload
    private let type: PushType
    /// The bytes before and after the badge; `nil` if the payload has to be encoded anew for each badge.
    private let parts: (before: ArraySlice<UInt8>, after: ArraySlice<UInt8>)?

    package init(_ payload: Payload, type: PushType) {
        self.payload = payload
        self.type = type
        // A number that payloads do not contain marks the badge's place.
        let marker = Int64.min + 4711
        let text = payload.with(badge: marker).text
        let pattern = Array(String(marker).utf8)
        let places = text.indices.filter { text[$0...].starts(with: pattern) }
        parts =
            places.count == 1
            ? (text[..<places[0]], text[(places[0] + pattern.count)...]) : nil
    }

    /// - Throws: what ``APNsPayload/init(_:type:limit:)`` throws.
    package func payload(badge: Int) throws(Failure) -> APNsPayload {
        // A badge has at most 20 characters, the length of `Int.min`.
        let longest = type.payloadLimit - 20
        guard type == .alert, let parts, parts.before.count + parts.after.count <= longest else {
            return try APNsPayload(payload.with(badge: Int64(badge)), type: type)
        }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(parts.before.count + parts.after.count + 20)
        bytes += parts.before
        bytes += String(badge).utf8
        bytes += parts.after
        return APNsPayload(bytes, type)
    }
}
