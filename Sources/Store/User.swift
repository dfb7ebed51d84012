import Crypto
import Documents
import Turnstone

/// A user's document: the truth about the user's devices, and what a player was notified of.
package struct User: Document {
    package static var version: Int64 { 1 }

    package var devices: [Device] = []
    /// The turns that the player was told of, or is to be.
    package var ledger = TurnLedger()
    /// How many turn notices were queued for the player: the next one's number is one more.
    package var notices: Int64 = 0
    /// When a push of a turn was last accepted by a push service.
    package var lastNotification: Timestamp?
    /// How many games wait for the player, for the icons.
    package var turnBadge = TurnBadge()
    /// How many notices in a row reached no device, and until when no other is queued.
    package var silence: Silence?
    /// The SHA-256 of each API key made for the user. An index: the key's document is the truth.
    package var keys: [String] = []
    /// What the user wants to be told of, and when.
    package var preferences = Preferences()
    /// What waits for the user to want to be told.
    package var held = HeldMessages()
    /// What the app's icon shows.
    package var badge: Int64 = 0
    /// The ids of the last messages that changed it, and of earlier ones whose requests may still be repeated: each
    /// counts once.
    package private(set) var badgeMessages: [String] = []
    /// The notification that brings the badge to the devices and has not begun to.
    package var badgePush: BadgePush?
    /// Where the player's record is in the player index. A hint, checked when it is used.
    package var record: Int64?
    /// Whether a user with a player's number is one: `/register` says so. A number in a JSON Web Token's claim may mean
    /// anybody.
    package internal(set) var isPlayer = true
    private var unknown = JSONObject()

    package init() {}

    /// Whether there is somewhere to push a message to.
    package var hasDevice: Bool { devices.contains { $0.takesMessages } }

    /// Whether `check-turns` looks at the user, who has a player's number.
    package var isWatched: Bool { isPlayer && hasDevice }
}

/// A device that a user can be reached on, by one of its tokens.
package struct Device: Equatable {
    package internal(set) var token: DeviceToken
    /// ``id``, where an earlier token gave it.
    var firstID: String?
    /// The ids of devices that have become one with it, as their tokens were replaced by its own: what was accepted for them
    /// is for it.
    var formerIDs: [String] = []
    /// What the token is good for.
    package var kind = TokenKind.device
    package var platform = Platform.ios
    /// What the user calls it.
    package var name: String?
    package var appVersion: String?
    /// Where APNs knows the token; `nil` where the installation's setting counts.
    package var environment: APNsEnvironment?
    /// When the app first registered it; `nil` where that is when it last did.
    var firstRegistered: Timestamp?
    /// When the app last registered it: a "gone" from before says nothing about it.
    package var registered: Timestamp
    /// Since when it is not pushed to, after APNs called its token bad.
    package var quarantined: Timestamp?
    /// When a push service last took a push to it, as far as that was noted.
    package var reached: Timestamp?
    /// The number of the newest turn notice that was accepted for it.
    package var notice: Int64 = 0
    /// How many waiting games of this player the last accepted push showed, as far as is known; `nil` before the first.
    package var shownTurns: Int64?
    /// What its push service held against it, since it was registered.
    package internal(set) var refusals: Refusals?
    /// What it shows, where the token is a Live Activity's.
    package var activity: ActivityFeed?
    /// Where it shows a session: the number of the session's newest state when it came. It gets the later ones.
    package internal(set) var joined: Int64 = 0
    private var unknown = JSONObject()

    package init(_ token: DeviceToken, environment: APNsEnvironment? = nil, registered: Timestamp) {
        self.token = token
        self.environment = environment
        self.registered = registered
    }

    /// The last refusal's reason and time, and how many there were.
    package struct Refusals: Equatable {
        package let reason: String
        package let last: Timestamp
        package let count: Int64
    }

    /// Whether other devices have become one with it.
    package var standsForOthers: Bool { !formerIDs.isEmpty }

    /// Its id, and those of the devices that have become one with it.
    package var ids: [String] { [id] + formerIDs }

    /// Whether it has not registered for so long that it is probably gone: an app registers whenever it is opened.
    /// (Firebase: tokens end after 270 days without use.)
    package func isStale(at now: Timestamp) -> Bool { now - registered > .days(270) }

    /// Notes that its push service refused it.
    package mutating func noteRefusal(_ reason: String, at moment: Timestamp) {
        refusals = Refusals(reason: reason, last: moment, count: (refusals?.count ?? 0) + 1)
    }
}

extension User {
    package init?(_ members: JSONObject) {
        var members = Members(members)
        for element in members.take("devices")?.array ?? [] {
            guard let device = element.object.flatMap(Device.init) else { return nil }
            devices.append(device)
        }
        if let json = members.take("ledger") {
            guard let ledger = TurnLedger(json) else { return nil }
            self.ledger = ledger
        }
        notices = members.take("notices")?.count ?? 0
        lastNotification = members.take("last_notification_time")?.timestamp
        turnBadge = TurnBadge(members.take("turn_badge")?.object ?? [:])
        silence = members.take("silence")?.object.flatMap(Silence.init)
        keys = members.take("keys")?.texts ?? []
        if let json = members.take("preferences") {
            guard let preferences = Preferences(json) else { return nil }
            self.preferences = preferences
        }
        if let json = members.take("held") {
            guard let held = HeldMessages(json) else { return nil }
            self.held = held
        }
        badge = min(members.take("badge")?.count ?? 0, BadgeChange.most)
        badgeMessages = members.take("badge_by")?.texts ?? []
        badgePush = members.take("badge_push")?.object.flatMap(BadgePush.init)
        record = members.take("record")?.integer
        isPlayer = members.take("player")?.bool ?? true
        unknown = members.rest
    }

    package var members: JSONObject {
        var members = JSONObject()
        members["devices"] = .array(devices.map { .object($0.members) })
        members["ledger"] = ledger.json
        members["notices"] = .integer(notices)
        members["last_notification_time"] = lastNotification.map { JSONValue($0) }
        members["turn_badge"] = turnBadge == TurnBadge() ? nil : .object(turnBadge.members)
        members["silence"] = silence.map { .object($0.members) }
        members["keys"] = keys.isEmpty ? nil : JSONValue(texts: keys)
        members["preferences"] = preferences == Preferences() ? nil : preferences.json
        members["held"] = held == HeldMessages() ? nil : held.json
        members["badge"] = badge == 0 ? nil : .integer(badge)
        members["badge_by"] = badgeMessages.isEmpty ? nil : JSONValue(texts: badgeMessages)
        members["badge_push"] = badgePush.map { .object($0.members) }
        members["record"] = record.map { .integer($0) }
        members["player"] = isPlayer ? nil : false
        return members.adding(unknown)
    }
}

extension Device {
    fileprivate init?(_ members: JSONObject) {
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

    fileprivate var members: JSONObject {
        var members: JSONObject = ["token": .string(token.text)]
        members["id"] = firstID.map { .string($0) }
        members["former_ids"] = formerIDs.isEmpty ? nil : JSONValue(texts: formerIDs)
        kind.put(into: &members)
        if platform != .ios { members["platform"] = .string(platform.rawValue) }
        members["name"] = name.map { .string($0) }
        members["app_version"] = appVersion.map { .string($0) }
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

extension User {
    /// The device that a token belongs to, or belonged to until another one took its place.
    ///
    /// - Parameter id: the device's, where it is known; else that of the token.
    package func device(_ token: DeviceToken, id: String? = nil) -> Device? {
        // By the id first: a token that was replaced may have been registered again, as another device.
        let id = id ?? token.publicID
        return devices.first { $0.id == id } ?? devices.first { $0.formerIDs.contains(id) }
            ?? devices.first { $0.token == token }
    }

    /// Takes in a notice that is in the spool, if a crash prevented that.
    package mutating func adopt(_ turns: TurnLedger, notice: Int64) {
        guard notice > notices else { return }
        ledger.queue(turns)
        notices = notice
    }

    /// Takes in what a look says of the player's games: which of them wait, and which went on.
    ///
    /// - Parameter liveToo: whether live games count.
    package mutating func judge(
        _ look: ActiveGames, of player: PlayerID, liveToo: Bool
    ) -> TurnRule.Judgement {
        let judgement = TurnRule.judge(look, ledger: ledger, player: player, liveToo: liveToo)
        ledger = judgement.ledger
        turnBadge.waiting = Int64(judgement.badge)
        return judgement
    }

    /// What a carrier is to send to a Live Activity: ``ActivityFeed/take(by:now:besides:turn:)``.
    ///
    /// - Parameters:
    ///   - shared: what it got by its session.
    ///   - turn: how many of its session's states were taken.
    ///   - isPutOff: whether the push that was to bring a state still waits.
    ///   - fits: whether a state can be sent.
    package mutating func takeActivity(
        of token: DeviceToken, by carrier: String, now: Timestamp, besides shared: ActivityFeed?,
        turn: Int64,
        isPutOff: (_ carrier: String) throws(Failure) -> Bool, fits: (JSONObject) -> Bool
    ) throws(Failure) -> ActivityFeed.Taken? {
        guard let index = devices.firstIndex(where: { $0.token == token }),
            var feed = devices[index].activity
        else { return nil }
        if feed.carrier?.id == carrier, let last = feed.taken, last.state.aps["alert"] != nil,
            try isPutOff(last.carrier)
        {
            feed.keepAlert(fits: fits)
        }
        let taken = feed.take(by: carrier, now: now, besides: shared, turn: turn)
        devices[index].activity = feed
        return taken
    }

    /// Changes the badge as a message says, once.
    package mutating func changeBadge(_ change: BadgeChange, messageID: String) {
        guard !badgeMessages.contains(messageID) else { return }
        badge = change.applied(to: badge)
        badgeMessages = badgeMessages.suffix(99) + [messageID]
    }

    /// Takes back what a message has added to the badge, as no device took it.
    package mutating func takeBackBadge(_ change: BadgeChange, messageID: String) {
        guard case .add(let number) = change,
            let place = badgeMessages.firstIndex(of: messageID)
        else { return }
        badgeMessages.remove(at: place)
        badge = BadgeChange.add(-number).applied(to: badge)
    }

    /// Records that a push service took a turn notice for some of the devices.
    ///
    /// - Parameter badge: how many games it said are waiting; `nil` where a drainer that was killed has sent it.
    package mutating func noteTold(
        _ notice: Int64, badge: Int64?, on tokens: [DeviceToken], at moment: Timestamp
    ) {
        lastNotification = moment
        silence = nil
        ledger.noteTold(notice)
        for index in devices.indices where tokens.contains(devices[index].token) {
            devices[index].reached = moment
            devices[index].notice = max(devices[index].notice, notice)
        }
        if let badge { noteShown(badge, on: tokens) }
    }

    /// Records how many waiting games a push has shown on some of the devices.
    package mutating func noteShown(_ waiting: Int64, on tokens: [DeviceToken]) {
        for index in devices.indices where tokens.contains(devices[index].token) {
            devices[index].shownTurns = waiting
        }
    }

    /// Records that a turn notice has ended and no device took it: its turns are new again.
    ///
    /// - Parameter isRefused: whether that was a push service's doing.
    package mutating func noteUntold(_ notice: Int64, isRefused: Bool, at moment: Timestamp) {
        ledger.forget(notice)
        if isRefused { silence = Silence(after: silence, at: moment) }
    }
}

extension Shelf<UserID, User> {
    /// The document of the player's user.
    package subscript(player: PlayerID) -> StoredDocument<User> { self[UserID(player)] }
}
