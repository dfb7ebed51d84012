import Documents
import JSON
import Turnstone

/// What the store knows of a broadcast channel, from when it was made or read here.
package struct Channel: Document {
    package static var version: Int64 { 1 }

    package var id: ChannelID?
    /// What APNs keeps for it; `nil` in a document that was never written.
    package var policy: StoragePolicy?
    /// Where APNs knows it: the two do not know each other's.
    package var environment: APNsEnvironment?
    /// What it is to get.
    package var feed: ActivityFeed?
    package var deleted: Timestamp?
    private var unknown = JSONObject()

    package init() {}

    package init?(_ members: JSONObject) {
        var members = Members(members)
        guard let id = members.take("id")?.string.flatMap(ChannelID.init),
            let policy = members.take("policy")?.string.flatMap(StoragePolicy.init)
        else { return nil }
        self.id = id
        self.policy = policy
        environment = members.take("environment")?.string.flatMap(APNsEnvironment.init)
        if let value = members.take("feed") {
            guard let feed = ActivityFeed(value) else { return nil }
            self.feed = feed
        }
        deleted = members.take("deleted_at")?.timestamp
        unknown = members.rest
    }

    package var members: JSONObject {
        var members = JSONObject()
        members["id"] = id.map { .string($0.text) }
        members["policy"] = policy.map { .string($0.rawValue) }
        members["environment"] = environment.map { .string($0.rawValue) }
        members["feed"] = feed.map { $0.json }
        members["deleted_at"] = deleted.map { JSONValue($0) }
        return members.adding(unknown)
    }
}

extension Shelf<ChannelID, Channel> {
    /// Notes what APNs says of a channel.
    package func note(
        _ id: ChannelID, keeping policy: StoragePolicy, in environment: APNsEnvironment
    ) throws(Failure) {
        try self[id].update { channel in
            channel.id = id
            channel.policy = policy
            channel.environment = environment
            channel.deleted = nil
        }
    }
}
