import Edge
import Turnstone

/// The channel that a caller wants.
struct Wish {
    let policy: StoragePolicy
    /// `nil`: the configured one.
    let environment: APNsEnvironment?

    init(_ members: JSONObject) throws(Failure) {
        guard let policy = StoragePolicy(rawValue: try members.text("messageStoragePolicy")) else {
            throw .malformed("messageStoragePolicy must be none or newest")
        }
        self.policy = policy
        environment = try members.environment()
    }
}

extension Request {
    /// The channel that the path names.
    func channel() throws(Failure) -> ChannelID {
        guard let id = ChannelID(self[parameter: "id"]) else {
            throw .malformed(
                "id must be a channel's id: base64, in a path with - for + and _ for /")
        }
        return id
    }

    /// The environment that the query names.
    func environment() throws(Failure) -> APNsEnvironment? {
        try APNsEnvironment(named: query("environment"))
    }
}
