import Crypto
import Documents
import Turnstone

extension Device {
    /// When the app first registered it.
    package var created: Timestamp { firstRegistered ?? registered }

    /// Identifies the device among the user's devices without revealing its token. It is made from the first
    /// token that the device was registered with, and stays when another token replaces that one.
    package var id: String { firstID ?? token.publicID }

    /// A notification's way to it.
    ///
    /// - Parameter user: its user, where the notification does not say.
    package func delivery(of user: UserID? = nil) -> Delivery {
        Delivery(
            token: token, of: platform.service, id: firstID, environment: environment, user: user,
            isProven: reached != nil)
    }

    /// Whether it gets messages where its push service can be reached.
    package var isOpenToMessages: Bool { kind == .device && quarantined == nil && isEnabled }

    /// Whether messages to the app may be pushed to it by one of these services.
    package func takesMessages(by services: PushServiceSet) -> Bool {
        isOpenToMessages && services.contains(platform.service)
    }

    /// Whether a number for the app's icon, and nothing else, may be pushed to it by one of these services.
    package func takesBadges(by services: PushServiceSet) -> Bool {
        takesMessages(by: services) && platform.takesSilentPushes
    }

    /// How many waiting games the app's icon counts, as far as is known. A device that has got no notice yet
    /// shows none.
    ///
    /// - Returns: `nil` where the number cannot be corrected by one of these services, or is not known because
    ///   its push service has refused all there was.
    package func gamesOnIcon(by services: PushServiceSet) -> Int64? {
        takesBadges(by: services) ? shownTurns ?? (refusals == nil ? 0 : nil) : nil
    }

    /// Whether messages skip it because its push service is none of these.
    package func isSkipped(by services: PushServiceSet) -> Bool {
        isOpenToMessages && !services.contains(platform.service)
    }

    /// The app's name for the Live Activity that the token updates.
    package var activityID: String? {
        if case .liveActivity(let activity, _) = kind { activity } else { nil }
    }

    /// The app's name for what that Live Activity shows.
    package var sessionID: String? {
        kind.session
    }

    /// The type of the Live Activities that the token starts.
    package var attributesType: String? {
        if case .liveActivityStart(let type) = kind { type } else { nil }
    }
}

extension TokenKind {
    /// The app's name for what a Live Activity shows.
    var session: String? {
        if case .liveActivity(_, let session) = self { session } else { nil }
    }

    /// - Returns: `nil` for a kind that this program does not know.
    init?(_ members: inout Members) {
        let activity = members.take("activity_id")?.string
        let session = members.take("session_id")?.string
        let type = members.take("attributes_type")?.string
        switch (members.take("kind")?.string ?? "device", type) {
        case ("device", _): self = .device
        case ("live_activity", _): self = .liveActivity(activity: activity, session: session)
        case ("live_activity_start", let type?): self = .liveActivityStart(attributesType: type)
        default: return nil
        }
    }

    func put(into members: inout JSONObject) {
        guard self != .device else { return }
        members["kind"] = .string(name)
        switch self {
        case .device: break
        case .liveActivity(let activity, let session):
            members["activity_id"] = activity.map { .string($0) }
            members["session_id"] = session.map { .string($0) }
        case .liveActivityStart(let type): members["attributes_type"] = .string(type)
        }
    }
}

extension Platform {
    init?(_ members: inout Members) {
        self.init(rawValue: members.take("platform")?.string ?? "ios")
    }
}
