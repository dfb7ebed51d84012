import Documents
import Edge
import Store
import Turnstone

/// Whose Live Activities a call is for: those for which all holds that it says.
struct Target {
    private let activity: String?
    private let session: String?
    private let user: UserID?
    /// The session, where it is for all its listeners.
    var wholeSession: String? { activity == nil && user == nil ? session : nil }
    /// To whose listeners it is broadcast; of a start, to which the activity is to listen.
    let channel: ChannelID?
    /// Whether it goes to a channel.
    let isBroadcast: Bool
    /// Of the tokens that start activities; `nil`: those that update one are meant.
    let attributesType: String?

    init(_ fields: inout Fields, _ event: Call.Event) throws(Failure) {
        activity = try fields.optionalText("activityId")
        session = try fields.optionalText("sessionId")
        user = try fields.user("userId")
        let id = try fields.optionalText("channel")
        channel = id.flatMap(ChannelID.init)
        guard id == nil || channel != nil else { throw .malformed("channel is no channel's id") }
        isBroadcast = channel != nil && event != .start
        attributesType = event == .start ? try fields.requiredText("attributesType") : nil
        if event == .start {
            guard user != nil else { throw .malformed("userId is required") }
        } else if isBroadcast {
            guard activity == nil, session == nil, user == nil else {
                throw .malformed("a channel is for all who listen: nobody else may be named")
            }
        } else if activity == nil, session == nil, user == nil {
            throw .malformed("activityId, sessionId, userId or channel is required")
        }
    }

    /// The tokens and their users.
    func devices(
        _ registry: Registry, _ users: Shelf<UserID, User>
    ) throws(Failure) -> [(user: UserID, device: Device)] {
        var devices: [(user: UserID, device: Device)] = []
        if let user {
            devices = try users[user].read()?.devices.map { (user, $0) } ?? []
        } else if let activity {
            devices = try registry.devices(ofActivity: activity)
        } else if let session {
            devices = try registry.devices(ofSession: session)
        }
        return devices.filter { isMeant($0.device) }
    }

    /// Whether the call is for a user's device, by what it is registered as.
    func isMeant(_ device: Device) -> Bool {
        guard device.quarantined == nil else { return false }
        switch device.kind {
        case .device: return false
        case .liveActivityStart(let type): return type == attributesType
        case .liveActivity(let activity, let session):
            return attributesType == nil && (self.activity == nil || self.activity == activity)
                && (self.session == nil || self.session == session)
        }
    }
}
