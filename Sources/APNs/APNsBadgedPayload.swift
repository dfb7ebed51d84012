import JSON
import Turnstone

/// A payload for many devices of which each has a badge of its own: it is encoded once, and each badge put in.
package struct APNsBadgedPayload {
    private let payload: Payload
    private let type: PushType
    /// What comes before the badge and after it; `nil` where the badge has to be put into the values.
    private let parts: (before: ArraySlice<UInt8>, after: ArraySlice<UInt8>)?

    package init(_ payload: Payload, type: PushType) {
        self.payload = payload
        self.type = type
        // A number that nobody means, where the badge will be.
        let mark = Int64.min + 4711
        let text = payload.with(badge: mark).text
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
