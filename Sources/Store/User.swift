import Crypto
import Documents
import Turnstone

/// A user's document: the truth about the user's devices, and about the turns that a player was notified of.
package struct User: Document {
    package static var version: Int64 { 2 }
    /// Programs that know version 1 take a document with a browser for damaged.
    package var format: Int64 { devices.contains { $0.platform == .web } ? 2 : 1 }

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
    /// The user's properties, by which a backend chooses recipients.
    package var profile = Profile()
    /// Messages that wait for the end of quiet hours or a mute.
    package var held = HeldMessages()
    /// The number on the app's icon.
    package private(set) var badge: Int64 = 0
    /// The messages that changed the badge: each counts once.
    package private(set) var badgeMessages = BadgeMessages()
    /// The queued notification that sends the badge to the devices and has not been started.
    package var badgePush: BadgePush?
    /// The notifications that reached the user through none of the push services that have ended their part.
    package var unreached = UnreachedParts()
    /// Whether a user with a player's number is that player. `/register` says so. A number in a JSON Web
    /// Token's claim may mean anybody.
    package internal(set) var isPlayer = true
    /// Whether ``isPlayer`` was said: the player was looked at. Other routes then do not say otherwise.
    package internal(set) var isKnownPlayer = false
    /// The id that the user had before OneSignal's routes gave an `external_id`. What waits in the spool, and
    /// the receipts of that time, name it.
    package internal(set) var formerID: UserID?
    /// Whether the user's erasure has begun. The aliases stay to its end, so that a request that is repeated
    /// finds the user, and nobody else can claim them before.
    package var isErasing = false
    private var unknown = JSONObject()

    package init() {}

    /// Whether any device takes messages by one of these services.
    package func hasDevice(for services: PushServiceSet) -> Bool {
        devices.contains { $0.takesMessages(by: services) }
    }

    /// Whether `check-turns` looks at this user, who has a player's number, where these services can be
    /// reached.
    package func isWatched(with services: PushServiceSet) -> Bool {
        isPlayer && hasDevice(for: services)
    }
}

extension User {
    @export(interface)
    package init?(_ members: JSONObject) {
        var members = Members(members)
        if let json = members.take("devices") {
            guard let elements = json.array else { return nil }
            for element in elements {
                guard let device = element.object.flatMap(Device.init) else { return nil }
                devices.append(device)
            }
        }
        if let json = members.take("ledger") {
            guard let ledger = TurnLedger(json) else { return nil }
            self.ledger = ledger
        }
        if let json = members.take("notices") {
            guard let count = json.count else { return nil }
            notices = count
        }
        lastNotification = members.take("last_notification_time")?.timestamp
        turnBadge = TurnBadge(members.take("turn_badge")?.object ?? [:])
        silence = members.take("silence")?.object.flatMap(Silence.init)
        keys = members.take("keys")?.texts ?? []
        if let json = members.take("preferences") {
            guard let preferences = Preferences(json) else { return nil }
            self.preferences = preferences
        }
        if let json = members.take("profile") {
            guard let profile = Profile(json) else { return nil }
            self.profile = profile
        }
        if let json = members.take("held") {
            guard let held = HeldMessages(json) else { return nil }
            self.held = held
        }
        badge = min(members.take("badge")?.count ?? 0, BadgeChange.maximum)
        badgeMessages = BadgeMessages(taking: &members)
        badgePush = members.take("badge_push")?.object.flatMap(BadgePush.init)
        if let json = members.take("unreached") {
            guard let parts = UnreachedParts(json) else { return nil }
            unreached = parts
        }
        let player = members.take("player")?.bool
        isPlayer = player ?? true
        // An earlier version stored the player's place in the index.
        isKnownPlayer = members.take("record") != nil || player == true
        formerID = members.take("former_id")?.string.flatMap { UserID($0) }
        isErasing = members.take("erasing")?.bool ?? false
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
        members["profile"] = profile == Profile() ? nil : profile.json
        members["held"] = held == HeldMessages() ? nil : held.json
        members["badge"] = badge == 0 ? nil : .integer(badge)
        badgeMessages.write(to: &members)
        members["badge_push"] = badgePush.map { .object($0.members) }
        members["unreached"] = unreached.isEmpty ? nil : unreached.json
        members["player"] = isPlayer ? (isKnownPlayer ? true : nil) : false
        members["former_id"] = formerID.map { .string($0.text) }
        members["erasing"] = isErasing ? true : nil
        return members.adding(unknown)
    }
}

extension User {
    /// The id that the user had before the present one; `nil` if there was none. An earlier version stored it
    /// only as an alias.
    package func formerID(of user: UserID) -> UserID? {
        let former = formerID ?? profile.alias(Alias.ownID).flatMap { UserID($0.id) }
        // A crash while the user got the present id may have left that one.
        return former == user ? nil : former
    }

    /// The ids that the user has had, the present one first.
    package func ids(of user: UserID) -> [UserID] {
        [user] + (formerID(of: user).map { [$0] } ?? [])
    }

    /// The device that a token belongs to, or belonged to until another token replaced it.
    ///
    /// - Parameter id: the device's id if it is known; otherwise the token's id is used.
    package func device(_ token: DeviceToken, id: String? = nil) -> Device? {
        // The id comes first: a replaced token may have been registered again as another device.
        let id = id ?? token.publicID
        return devices.first { $0.id == id } ?? devices.first { $0.formerIDs.contains(id) }
            ?? devices.first { $0.token == token }
    }

    /// The device that an app names by its token or by its id.
    package func device(named text: String) -> Device? {
        let tokens = DeviceToken.all(named: text)
        return devices.first { tokens.contains($0.token) }
            ?? devices.first { device in
                device.ids.contains { isSame($0, text) }
            }
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
    @export(interface)
    package mutating func judge(
        _ look: ActiveGames, of player: PlayerID, includingLive: Bool
    ) -> TurnRule.Judgement {
        let judgement = TurnRule.judge(
            look, ledger: ledger, player: player, includingLive: includingLive)
        ledger = judgement.ledger
        turnBadge.waiting = Int64(judgement.badge)
        return judgement
    }

    /// Whether a device's icon counts fewer games than wait, and can be corrected.
    package func showsFewer(on device: Device, by services: PushServiceSet) -> Bool {
        device.gamesOnIcon(by: services).map { $0 < turnBadge.waiting } ?? false
    }

    /// How many of this player's waiting games the icon of a device shows beside another player's. One who wants no
    /// notices of turns gets no higher number.
    package func turnsToShow(on device: Device) -> Int64 {
        guard preferences.kinds[Preferences.turn] == .bool(false) else { return turnBadge.waiting }
        return min(turnBadge.waiting, device.shownTurns ?? 0)
    }

    /// The state that a carrier must send to a Live Activity: ``ActivityFeed/take(by:now:besides:turn:)``.
    ///
    /// - Parameters:
    ///   - shared: what it got through its session.
    ///   - alert: the session's newest alert, if it has not got that; it comes with this state.
    ///   - turn: how many of its session's states were taken.
    ///   - isInDoubt: whether an earlier attempt of this carrier may have arrived.
    ///   - isMissed: whether the push of an earlier state still waits for another attempt, and cannot have
    ///     arrived yet.
    ///   - fits: whether a state can be sent.
    package mutating func takeActivity(
        of token: DeviceToken, by carrier: String, now: Timestamp, besides shared: ActivityFeed?,
        alert: ActivityFeed.State?, turn: Int64, isInDoubt: Bool,
        isMissed: (_ carrier: String) throws(Failure) -> Bool, fits: (JSONObject) -> Bool
    ) throws(Failure) -> ActivityFeed.Taken? {
        guard let index = devices.firstIndex(where: { $0.token == token }),
            var feed = devices[index].activity
        else { return nil }
        try feed.keepAlert(
            from: carrier, now: now, isInDoubt: isInDoubt, isMissed: isMissed, fits: fits)
        guard feed.take(by: carrier, now: now, besides: shared, turn: turn) != nil else {
            devices[index].activity = feed
            return nil
        }
        if let alert { feed.takeAlert(of: alert, fits: fits) }
        devices[index].activity = feed
        return feed.taken
    }

    /// Applies a message's change to the badge, once per message.
    ///
    /// - Parameter order: the message's number among all messages; `nil` if it counts from another moment than
    ///   its acceptance. A number that an older message sets does not replace what a newer one has set.
    package mutating func changeBadge(
        _ change: BadgeChange, messageID: String, order: Int64? = nil
    ) {
        guard !badgeMessages.contains(messageID) else { return }
        let before = badge
        if case .set = change, let order, !badgeMessages.advance(to: order) {
            return badgeMessages.append(messageID, added: 0, of: .add(0))
        }
        badge = change.applied(to: before)
        badgeMessages.append(messageID, added: badge - before, of: change)
    }

    /// Forgets the messages of the badge that have ended: ``BadgeMessages/forget(allBut:)``.
    package mutating func forgetBadgeMessages(allBut open: Set<String>) {
        badgeMessages.forget(allBut: open)
    }

    /// Applies a change of the badge that no message makes. A number that is set replaces what messages
    /// added, so nothing of it is taken back with them.
    package mutating func changeBadge(_ change: BadgeChange) {
        badge = change.applied(to: badge)
        if case .set = change { badgeMessages.settle() }
    }

    /// Takes back what a message added to the badge, because no device accepted the message.
    package mutating func takeBackBadge(_ change: BadgeChange, messageID: String) {
        guard let number = badgeMessages.take(messageID, of: change) else { return }
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
        // Another push service's part of it may have been accepted before this one ended.
        if isRefused, !devices.contains(where: { $0.notice >= notice }) {
            silence = Silence(after: silence, at: moment)
        }
    }
}

extension Shelf<UserID, User> {
    /// The document of the player's user.
    package subscript(player: PlayerID) -> StoredDocument<User> { self[UserID(player)] }
}
