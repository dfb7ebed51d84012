import Crypto
import Documents
import Turnstone

/// A user's document: the truth about the user's devices, and about the turns that a player was notified of.
package struct User: Document {
    package static var version: Int64 { 1 }

    package var devices: [Device] = []
    /// The turns that the player was notified of or will be.
    package var ledger = TurnLedger()
    /// How many turn notices were queued for the player. The next one's number is one higher.
    package var notices: Int64 = 0
    /// When a push service last accepted a push of a turn.
    package var lastNotification: Timestamp?
    /// How many games wait for the player, for the icons.
    package var turnBadge = TurnBadge()
    /// The pause after notices that reached no device.
    package var silence: Silence?
    /// The SHA-256 of each API key made for the user. An index: the key's document is the truth.
    package var keys: [String] = []
    /// Which notifications the user wants, and when.
    package var preferences = Preferences()
    /// Messages that wait for the end of quiet hours or a mute.
    package var held = HeldMessages()
    /// The number on the app's icon.
    package var badge: Int64 = 0
    /// The ids of the last messages that changed the badge. A message whose request is repeated counts once.
    package private(set) var badgeMessages: [String] = []
    /// The queued notification that sends the badge to the devices and has not been started.
    package var badgePush: BadgePush?
    /// Where the player's record is in the player index. A hint, checked when it is used.
    package var record: Int64?
    /// Whether a user with a player's number is that player. `/register` says so. A number in a JSON Web
    /// Token's claim may mean anybody.
    package internal(set) var isPlayer = true
    private var unknown = JSONObject()

    package init() {}

    /// Whether any device takes messages.
    package var hasDevice: Bool { devices.contains { $0.takesMessages } }

    /// Whether `check-turns` looks at this user, who has a player's number.
    package var isWatched: Bool { isPlayer && hasDevice }
}

/// A device that a user can be reached on, by one of its tokens.
package struct Device: Equatable {
    package internal(set) var token: DeviceToken
    /// ``id``, if it was made from an earlier token.
    var firstID: String?
    /// The ids of devices that became one with it when its token replaced theirs. What was accepted for them
    /// is for it.
    var formerIDs: [String] = []
    /// What the token can be used for.
    package var kind = TokenKind.device
    package var platform = Platform.ios
    /// What the user calls it.
    package var name: String?
    package var appVersion: String?
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
        badge = min(members.take("badge")?.count ?? 0, BadgeChange.maximum)
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
    /// The device that a token belongs to, or belonged to until another token replaced it.
    ///
    /// - Parameter id: the device's id if it is known; otherwise the token's id is used.
    package func device(_ token: DeviceToken, id: String? = nil) -> Device? {
        // The id comes first: a replaced token may have been registered again as another device.
        let id = id ?? token.publicID
        return devices.first { $0.id == id } ?? devices.first { $0.formerIDs.contains(id) }
            ?? devices.first { $0.token == token }
    }

    /// Adopts a notice that is in the spool but was not recorded because of a crash.
    package mutating func adopt(_ turns: TurnLedger, notice: Int64) {
        guard notice > notices else { return }
        ledger.queue(turns)
        notices = notice
    }

    /// Judges what a look found: which of the player's games wait, and which went on.
    ///
    /// - Parameter includingLive: whether live games count.
    package mutating func judge(
        _ look: ActiveGames, of player: PlayerID, includingLive: Bool
    ) -> TurnRule.Judgement {
        let judgement = TurnRule.judge(
            look, ledger: ledger, player: player, includingLive: includingLive)
        ledger = judgement.ledger
        turnBadge.waiting = Int64(judgement.badge)
        return judgement
    }

    /// The state that a carrier must send to a Live Activity: ``ActivityFeed/take(by:now:besides:turn:)``.
    ///
    /// - Parameters:
    ///   - shared: what it got through its session.
    ///   - turn: how many of its session's states were taken.
    ///   - isPutOff: whether the push of an earlier state still waits for another attempt.
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

    /// Applies a message's change to the badge, once per message.
    package mutating func changeBadge(_ change: BadgeChange, messageID: String) {
        guard !badgeMessages.contains(messageID) else { return }
        badge = change.applied(to: badge)
        badgeMessages = badgeMessages.suffix(99) + [messageID]
    }

    /// Takes back what a message added to the badge, because no device accepted the message.
    package mutating func takeBackBadge(_ change: BadgeChange, messageID: String) {
        guard case .add(let number) = change,
            let place = badgeMessages.firstIndex(of: messageID)
        else { return }
        badgeMessages.remove(at: place)
        badge = BadgeChange.add(-number).applied(to: badge)
    }

    /// Records that a push service accepted a turn notice for some of the devices.
    ///
    /// - Parameter badge: how many waiting games the notice showed; `nil` if it was sent by a drainer that
    ///   was killed.
    package mutating func recordAccepted(
        _ notice: Int64, badge: Int64?, on tokens: [DeviceToken], at moment: Timestamp
    ) {
        lastNotification = moment
        silence = nil
        ledger.markAccepted(notice)
        for index in devices.indices where tokens.contains(devices[index].token) {
            devices[index].reached = moment
            devices[index].notice = max(devices[index].notice, notice)
        }
        if let badge { recordShown(badge, on: tokens) }
    }

    /// Records how many waiting games a push showed on some of the devices.
    package mutating func recordShown(_ waiting: Int64, on tokens: [DeviceToken]) {
        for index in devices.indices where tokens.contains(devices[index].token) {
            devices[index].shownTurns = waiting
        }
    }

    /// Records that a turn notice has ended and no device accepted it: its turns are new again.
    ///
    /// - Parameter isRefused: whether a push service refused it.
    package mutating func recordUndelivered(
        _ notice: Int64, isRefused: Bool, at moment: Timestamp
    ) {
        ledger.forget(notice)
        if isRefused { silence = Silence(after: silence, at: moment) }
    }
}

extension Shelf<UserID, User> {
    /// The document of the player's user.
    package subscript(player: PlayerID) -> StoredDocument<User> { self[UserID(player)] }
}
