import Documents
import Turnstone

/// A device that a user can be reached on, by one of its tokens.
package struct Device: Equatable {
    package internal(set) var token: DeviceToken
    /// ``id``, if it was made from an earlier token.
    package internal(set) var firstID: String?
    /// The ids of devices that became one with it when its token replaced theirs. Notifications accepted for
    /// them is for it.
    var formerIDs: [String] = []
    /// The use of the token.
    package var kind = TokenKind.device
    package var platform = Platform.ios
    /// The user's name for it.
    package var name: String?
    package var appVersion: String?
    /// The model and the operating system as the app names them, such as `iPhone15,2` and `iOS 19.1`.
    package var model: String?
    package var system: String?
    /// Whether the app or the backend allows messages to it.
    package var isEnabled = true
    /// The APNs environment that has the token; `nil` for the installation's setting.
    package var environment: APNsEnvironment?
    /// When the app first registered it; `nil` if there was only one registration.
    var firstRegistered: Timestamp?
    /// When the app last registered it. A "gone" from before that says nothing about it.
    package var registered: Timestamp
    /// Since when nothing is pushed to it, because APNs rejected its token.
    package var quarantined: Timestamp?
    /// When a push service last accepted a push of a turn for it.
    package var reached: Timestamp?
    /// The number of the newest turn notice that was accepted for it.
    package var notice: Int64 = 0
    /// How many of this player's waiting games the last accepted push showed, as far as is known; `nil`
    /// before the first.
    package var shownTurns: Int64?
    /// Its push service's refusals since it was registered.
    package internal(set) var refusals: Refusals?
    /// The states for it, if the token is a Live Activity's.
    package var activity: ActivityFeed?
    /// If it shows a session: the number of the session's newest state when it joined. It gets the later
    /// states.
    package internal(set) var joined: Int64 = 0
    private var unknown = JSONObject()

    package init(_ token: DeviceToken, environment: APNsEnvironment? = nil, registered: Timestamp) {
        self.token = token
        self.environment = environment
        self.registered = registered
    }

    /// The last refusal's reason and time, and how many refusals there were.
    package struct Refusals: Equatable {
        package let reason: String
        package let last: Timestamp
        package let count: Int64
    }

    /// Whether other devices have become one with it.
    package var standsForOthers: Bool { !formerIDs.isEmpty }

    /// Its id, and the ids of the devices that have become one with it.
    package var ids: [String] { [id] + formerIDs }

    /// Whether it has been silent for 270 days and is probably gone: an app registers whenever it is opened.
    /// (Firebase: tokens expire after 270 days without use.)
    package func isStale(at now: Timestamp) -> Bool { now - registered > .days(270) }

    /// Records that its push service refused it.
    package mutating func recordRefusal(_ reason: String, at moment: Timestamp) {
        refusals = Refusals(reason: reason, last: moment, count: (refusals?.count ?? 0) + 1)
    }
}

extension Device {
    init?(_ members: JSONObject) {
        var members = Members(members)
        guard let platform = Platform(&members), let kind = TokenKind(&members),
            let text = members.take("token")?.string,
            let token = DeviceToken(text, on: platform),
            let registered = members.take("registered_at")?.timestamp
        else { return nil }
        self.token = token
        self.kind = kind
        self.platform = platform
        self.registered = registered
        firstID = members.take("id")?.string
        formerIDs = members.take("former_ids")?.texts ?? []
        name = members.take("name")?.string
        appVersion = members.take("app_version")?.string
        model = members.take("model")?.string
        system = members.take("os")?.string
        isEnabled = members.take("enabled")?.bool ?? true
        firstRegistered = members.take("first_registered_at")?.timestamp
        if let name = members.take("environment")?.string {
            guard let environment = APNsEnvironment(rawValue: name) else { return nil }
            self.environment = environment
        }
        quarantined = members.take("quarantined_at")?.timestamp
        reached = members.take("reached_at")?.timestamp
        notice = members.take("notice")?.count ?? 0
        shownTurns = members.take("shown_turns")?.count
        if let refused = members.take("refused")?.object {
            guard let reason = refused["reason"]?.string, let last = refused["at"]?.timestamp,
                let count = refused["count"]?.count
            else { return nil }
            refusals = Refusals(reason: reason, last: last, count: count)
        }
        if let json = members.take("activity") {
            guard let activity = ActivityFeed(json) else { return nil }
            self.activity = activity
        }
        joined = members.take("joined")?.count ?? 0
        unknown = members.rest
    }

    var members: JSONObject {
        var members: JSONObject = ["token": .string(token.text)]
        members["id"] = firstID.map { .string($0) }
        members["former_ids"] = formerIDs.isEmpty ? nil : JSONValue(texts: formerIDs)
        kind.put(into: &members)
        if platform != .ios { members["platform"] = .string(platform.rawValue) }
        members["name"] = name.map { .string($0) }
        members["app_version"] = appVersion.map { .string($0) }
        members["model"] = model.map { .string($0) }
        members["os"] = system.map { .string($0) }
        members["enabled"] = isEnabled ? nil : false
        members["environment"] = environment.map { .string($0.rawValue) }
        members["first_registered_at"] = firstRegistered.map { JSONValue($0) }
        members["registered_at"] = JSONValue(registered)
        members["quarantined_at"] = quarantined.map { JSONValue($0) }
        members["reached_at"] = reached.map { JSONValue($0) }
        members["notice"] = notice == 0 ? nil : .integer(notice)
        members["shown_turns"] = shownTurns.map { .integer($0) }
        members["refused"] = refusals.map {
            [
                "reason": .string($0.reason), "at": JSONValue($0.last), "count": .integer($0.count),
            ]
        }
        members["activity"] = activity.map { $0.json }
        members["joined"] = joined == 0 ? nil : .integer(joined)
        return members.adding(unknown)
    }
}
