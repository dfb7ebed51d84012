import Documents
import JSON
import Turnstone
import Unix

/// What is kept of a message that an app's own backend sent: how to find out what became of it, and by what a
/// repeated request is known.
package struct MessageRecord: Document {
    package static var version: Int64 { 1 }

    package var accepted = Timestamp(milliseconds: 0)
    /// Before which nothing goes out.
    package var sendAfter: Timestamp?
    package var kind = ""
    package var devices = 0
    /// To how many devices more it goes when their users' quiet hours or mute is over.
    package var held = 0
    /// How many devices of its users are of a platform that no push service is there for.
    package var skipped = 0
    /// The users it was not accepted for, since their documents were busy or could not be used.
    package var later: [String] = []
    package var failed: [String] = []
    /// When it was called off.
    package var calledOff: Timestamp?
    /// The spool's folder that it was put into; `nil` where it is for no device.
    package var place: String?
    /// Where its receipts begin, as the spool says it.
    package var receipts: JSONValue = [:]
    /// The SHA-256 of the request, where it has an idempotency key.
    package var fingerprint: String?
    private var unknown = JSONObject()

    /// A report takes memory for each device: no message has more.
    private static let most: Int64 = 1 << 22

    package init() {}

    package init?(_ members: JSONObject) {
        var members = Members(members)
        guard let accepted = members.take("accepted_at")?.timestamp,
            let kind = members.take("kind")?.string,
            let devices = members.take("devices")?.count,
            let receipts = members.take("receipts")
        else { return nil }
        self.accepted = accepted
        self.kind = kind
        self.devices = Int(min(devices, Self.most))
        self.receipts = receipts
        sendAfter = members.take("send_after")?.timestamp
        held = Int(members.take("held")?.count ?? 0)
        skipped = Int(members.take("skipped")?.count ?? 0)
        later = members.take("later")?.texts ?? []
        failed = members.take("failed")?.texts ?? []
        calledOff = members.take("called_off_at")?.timestamp
        place = members.take("place")?.string
        fingerprint = members.take("request")?.string
        unknown = members.rest
    }

    package var members: JSONObject {
        var members: JSONObject = ["accepted_at": JSONValue(accepted), "kind": .string(kind)]
        members["send_after"] = sendAfter.map { JSONValue($0) }
        members["devices"] = .integer(Int64(devices))
        members["held"] = held > 0 ? .integer(Int64(held)) : nil
        members["skipped"] = skipped > 0 ? .integer(Int64(skipped)) : nil
        members["later"] = later.isEmpty ? nil : JSONValue(texts: later)
        members["failed"] = failed.isEmpty ? nil : JSONValue(texts: failed)
        members["called_off_at"] = calledOff.map { JSONValue($0) }
        members["place"] = place.map { .string($0) }
        members["receipts"] = receipts
        members["request"] = fingerprint.map { .string($0) }
        return members.adding(unknown)
    }
}
