import Documents
import Edge
import Store
import Turnstone

/// The Live Activities that a call is for: those that match everything it names.
struct Target {
    private let activity: String?
    private let session: String?
    private let user: UserID?
    /// The session, if the call is for all its listeners.
    var wholeSession: String? { activity == nil && user == nil ? session : nil }
    /// The channel to broadcast to; for a start, the channel that the activity will listen to.
    let channel: ChannelID?
    /// Whether it is broadcast to a channel.
    let isBroadcast: Bool
    /// For a start: the type of the start tokens. `nil` selects tokens that update an activity.
    let attributesType: String?

    init(_ fields: inout Fields, _ event: Call.Event) throws(Failure) {
        activity = try fields.optionalText("activityId")
        session = try fields.optionalText("sessionId")
        user = try fields.user("userId")
        let id = try fields.optionalText("channel")
        channel = id.flatMap(ChannelID.init)
        guard id == nil || channel != nil else {
            throw .malformed("channel must be the id of a broadcast channel, in base64")
        }
        isBroadcast = channel != nil && event != .start
        attributesType = event == .start ? try fields.requiredText("attributesType") : nil
        if event == .start {
            guard user != nil else { throw .malformed("userId is required") }
        } else if isBroadcast {
            guard activity == nil, session == nil, user == nil else {
                throw .malformed("channel must be sent without activityId, sessionId and userId")
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
        return devices.filter { matches($0.device) }
    }

    /// Whether the call is for a device, by its registration.
    func matches(_ device: Device) -> Bool {
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
