import Edge
import Turnstone

/// The channel that a caller wants to create.
struct ChannelRequest {
    let policy: StoragePolicy
    /// `nil` stands for the configured environment.
    let environment: APNsEnvironment?

    init(_ fields: inout Fields) throws(Failure) {
        let name = try fields.requiredText("messageStoragePolicy")
        guard let policy = StoragePolicy(rawValue: name) else {
            throw .malformed("messageStoragePolicy must be none or newest")
        }
        self.policy = policy
        environment = try fields.environment()
    }
}

extension Request {
    /// The channel that the path names.
    func channel() throws(Failure) -> ChannelID {
        guard let id = ChannelID(self[parameter: "id"]) else {
            throw .malformed(
                "id must be a channel's id: base64, written with - for + and _ for / in a path")
        }
        return id
    }
}
