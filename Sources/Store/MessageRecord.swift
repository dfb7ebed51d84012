import Documents
import Turnstone

/// The record of a message that an app's own backend sent. It leads to the message's receipts, and recognizes
/// a repeated request.
package struct MessageRecord: Document {
    package static var version: Int64 { 1 }

    package var accepted = Timestamp(milliseconds: 0)
    /// Nothing is sent before this moment.
    package var sendAfter: Timestamp?
    /// How the moment of each user is chosen, not earlier than ``sendAfter``; `nil` if all users have the
    /// same.
    package var delayed: DelayedOption?
    /// How many of its pushes may leave in a minute; `nil` for any number.
    package var throttle: Int64?
    /// What it adds to the badge of each of its users; `nil` if it sets the number, or leaves it alone.
    package var badge: BadgeChange?
    package var kind = ""
    package var devices = 0
    /// How many more devices get it when their users' quiet hours or mute end.
    package var held = 0
    /// How many of its users' devices have a platform without a push service.
    package var skipped = 0
    /// The users for whom it was not accepted, because their documents were busy (`later`) or unusable
    /// (`failed`).
    package var later: [String] = []
    package var failed: [String] = []
    /// The recipients whom nobody knew, as OneSignal's answer names them: lists of texts, at any depth.
    package var unknownRecipients = JSONObject()
    /// When it was cancelled.
    package var cancelled: Timestamp?
    /// Where in the queues it was put; `nil` if it is for no device.
    package var place: String?
    /// Where its receipts begin, in the spool's form.
    package var receipts: JSONValue = [:]
    /// The SHA-256 of the request, if that had an idempotency key.
    package var fingerprint: String?
    private var unknown = JSONObject()

    /// A report needs memory for each device. No message has more devices than this.
    private static let maximumDevices: Int64 = 1 << 22

    package init() {}

    @export(interface)
    package init?(_ members: JSONObject) {
        var members = Members(members)
        guard let accepted = members.take("accepted_at")?.timestamp,
            let kind = members.take("kind")?.string,
            let devices = members.take("devices")?.count,
            let receipts = members.take("receipts")
        else { return nil }
        self.accepted = accepted
        self.kind = kind
        self.devices = Int(min(devices, Self.maximumDevices))
        self.receipts = receipts
        sendAfter = members.take("send_after")?.timestamp
        if let json = members.take("delayed") {
            guard let known = DelayedOption(json) else { return nil }
            delayed = known
        }
        throttle = members.take("throttle")?.count
        badge = members.take("badge").flatMap(BadgeChange.init)
        held = Int(members.take("held")?.count ?? 0)
        skipped = Int(members.take("skipped")?.count ?? 0)
        later = members.take("later")?.texts ?? []
        failed = members.take("failed")?.texts ?? []
        unknownRecipients = members.take("unknown_recipients")?.object ?? [:]
        cancelled = members.take("called_off_at")?.timestamp
        place = members.take("place")?.string
        fingerprint = members.take("request")?.string
        unknown = members.rest
    }

    /// Removes a user's name.
    mutating func erase(_ user: UserID) {
        func isOther(_ text: String) -> Bool { !text.utf8.elementsEqual(user.text.utf8) }
        // Without what is empty then.
        func others(_ value: JSONValue) -> JSONValue? {
            switch value {
            case .string(let text):
                return isOther(text) ? value : nil
            case .array(let values):
                let rest = values.compactMap(others)
                return rest.isEmpty ? nil : .array(rest)
            case .object(let object):
                let rest = others(object)
                return rest.members.isEmpty ? nil : .object(rest)
            default:
                return value
            }
        }
        func others(_ object: JSONObject) -> JSONObject {
            var rest = JSONObject()
            for member in object.members { rest[member.name] = others(member.value) }
            return rest
        }
        later.removeAll { !isOther($0) }
        failed.removeAll { !isOther($0) }
        unknownRecipients = others(unknownRecipients)
    }

    package var members: JSONObject {
        var members: JSONObject = ["accepted_at": JSONValue(accepted), "kind": .string(kind)]
        members["send_after"] = sendAfter.map { JSONValue($0) }
        members["delayed"] = delayed.map { $0.json }
        members["throttle"] = throttle.map { .integer($0) }
        members["badge"] = badge.map { $0.json }
        members["devices"] = .integer(Int64(devices))
        members["held"] = held > 0 ? .integer(Int64(held)) : nil
        members["skipped"] = skipped > 0 ? .integer(Int64(skipped)) : nil
        members["later"] = later.isEmpty ? nil : JSONValue(texts: later)
        members["failed"] = failed.isEmpty ? nil : JSONValue(texts: failed)
        members["unknown_recipients"] =
            unknownRecipients.members.isEmpty ? nil : .object(unknownRecipients)
        members["called_off_at"] = cancelled.map { JSONValue($0) }
        members["place"] = place.map { .string($0) }
        members["receipts"] = receipts
        members["request"] = fingerprint.map { .string($0) }
        return members.adding(unknown)
    }
}
