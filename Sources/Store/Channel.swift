import Documents
import Turnstone

/// The record of a broadcast channel, from the moment it was created or read here.
package struct Channel: Document {
    package static var version: Int64 { 1 }

    package var id: ChannelID?
    /// The policy that APNs stores for it; `nil` in a document that was never written.
    package var policy: StoragePolicy?
    /// The APNs environment that has the channel. Neither environment knows the other's channels.
    package var environment: APNsEnvironment?
    /// The states to send to it.
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
    /// Records what APNs says about a channel.
    package func record(
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
