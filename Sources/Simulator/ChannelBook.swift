import Crypto
import Turnstone

/// The broadcast channels that there are and were.
struct ChannelBook {
    struct Channel {
        let policy: StoragePolicy
        var isDeleted = false
    }

    private(set) var channels: [String: Channel] = [:]
    /// As many as an app may have.
    var limit = 10_000
    /// Whether the app has broadcasts at all.
    var isEnabled = true
    /// Trouble that management is told to make with requests that are in order.
    var faults: [GatewayFault] = []
    /// How many answers are to make no sense.
    var nonsense: Int64 = 0
    /// What management answered: reasons, or what was done.
    private(set) var answers: [String: Int] = [:]
    private var made = 0

    var live: [String] {
        channels.filter { !$0.value.isDeleted }.keys.sorted()
    }

    /// - Returns: an id with all that could get lost in a path.
    mutating func make(_ policy: StoragePolicy) throws(PushRefusal) -> String {
        guard live.count < limit else {
            throw PushRefusal(400, "CannotCreateChannelConfig", "there are \(limit) channels")
        }
        made += 1
        let bytes: [UInt8] = [0xfb, 0xef, 0xff, UInt8(made >> 16 & 255)]
        let id = base64(bytes + [UInt8(made >> 8 & 255), UInt8(made & 255), 0xff])
        channels[id] = Channel(policy: policy)
        return id
    }

    mutating func put(_ id: String, _ channel: Channel?) { channels[id] = channel }

    /// The channel, as long as it is not deleted.
    func find(_ id: String) throws(PushRefusal) -> Channel {
        guard let channel = channels[id] else {
            throw PushRefusal(400, "BadChannelId", "there never was such a channel")
        }
        guard !channel.isDeleted else {
            throw PushRefusal(400, "ChannelNotRegistered", "the channel is deleted")
        }
        return channel
    }

    func checkEnabled() throws(PushRefusal) {
        guard isEnabled else {
            throw PushRefusal(403, "BroadcastFeatureNotEnabled", "the app has no broadcasts")
        }
    }

    /// Checks whether a broadcast suits its channel.
    func check(_ push: BroadcastCheck, now: Timestamp) throws(PushRefusal) {
        try checkEnabled()
        let channel = try find(push.channel)
        guard push.expiration.milliseconds > 0 else { return }
        guard channel.policy == .newest else {
            throw PushRefusal(400, "BadExpirationDate", "the channel keeps nothing")
        }
        guard push.expiration - now <= StoragePolicy.longest else {
            throw PushRefusal(400, "BadExpirationDate", "that is more than 8 hours ahead")
        }
    }

    mutating func note(_ answer: String) { answers[answer, default: 0] += 1 }

    mutating func clearFaults() {
        faults = []
        nonsense = 0
    }

    var report: JSONValue {
        var counts = JSONObject()
        for (reason, count) in answers.sorted(by: { $0.key < $1.key }) {
            counts.append(reason, JSONValue(count))
        }
        let list = channels.sorted { $0.key < $1.key }.map { id, channel -> JSONValue in
            [
                "id": .string(id), "policy": .string(channel.policy.rawValue),
                "deleted": .bool(channel.isDeleted),
            ]
        }
        return ["answers": .object(counts), "list": .array(list)]
    }
}
