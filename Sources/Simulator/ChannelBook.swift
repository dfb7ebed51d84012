import Turnstone

/// The broadcast channels, including deleted ones.
struct ChannelBook {
    struct Channel {
        let policy: StoragePolicy
        var isDeleted = false
    }

    private(set) var channels: [String: Channel] = [:]
    /// The most channels that an app may have.
    var limit = 10_000
    /// Whether broadcasts are enabled for the app.
    var isEnabled = true
    /// Faults that management makes with valid requests.
    var faults: [GatewayFault] = []
    /// The number of answers that will not be JSON.
    var malformedAnswers: Int64 = 0
    /// The count of answers by reason, or by what was done.
    private(set) var answers: [String: Int] = [:]
    private var made = 0

    var live: [String] {
        channels.filter { !$0.value.isDeleted }.keys.sorted()
    }

    /// - Returns: an id that contains every character that could get lost in a path.
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

    /// Returns the channel, unless it is deleted.
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

    /// Checks a broadcast against its channel.
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

    mutating func count(_ answer: String) { answers[answer, default: 0] += 1 }

    mutating func clearFaults() {
        faults = []
        malformedAnswers = 0
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
