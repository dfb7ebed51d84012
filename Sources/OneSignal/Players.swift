import Documents
import Edge
import Profiles
import Store
import Turnstone

/// The requests of OneSignal's older client about devices, which it calls players.
package struct Players {
    private let request: Request
    private let state: State
    private let subscriptions: Subscriptions

    package init(_ request: Request) throws(Failure) {
        self.request = request
        subscriptions = try Subscriptions(request)
        state = subscriptions.state
    }

    /// Registers a device, for the user with `external_user_id`, or for the one who has it already.
    @export(interface)
    package func make(in app: App) throws(Failure) -> Response {
        var fields = try request.fields()
        try app.check(fields.text("app_id"))
        let body = try SubscriptionBody(player: &fields, request.variables)
        let change = try PlayerChange(&fields)
        let user = try user(of: body, change)
        let device = try body.claim(for: user, state, as: request)
        try change.apply(to: user, state, as: request)
        return .ok(["success": true, "id": .string(device.id)])
    }

    /// The user whom a request names, or the one who has the token; otherwise a new one without an external
    /// id.
    private func user(
        of body: SubscriptionBody, _ change: PlayerChange
    ) throws(Failure) -> UserID {
        if let user = change.externalID { return user }
        if let token = body.token, let user = try state.registry.users(of: token).first {
            return user
        }
        return try state.makeAnonymousUser(request)
    }

    package func update(_ id: String, in app: App) throws(Failure) -> Response {
        let device = try change(id, in: app, beginsSession: false)
        return .ok(["success": true, "id": .string(device.id)])
    }

    /// Counts a session of the device's user.
    package func beginSession(_ id: String, in app: App) throws(Failure) -> Response {
        _ = try change(id, in: app, beginsSession: true)
        return .ok(["success": true])
    }

    /// Changes a device, its user, and what is known of that user.
    private func change(
        _ id: String, in app: App, beginsSession: Bool
    ) throws(Failure) -> Device {
        var fields = try request.fields()
        try app.check(fields.text("app_id"))
        let members = fields
        return try subscriptions.following({ () throws(Failure) in try subscriptions.find(id) }) {
            (owner, known) throws(Failure) in
            var fields = members
            let body = try SubscriptionBody(player: &fields, changing: known, request.variables)
            var change = try PlayerChange(&fields)
            if beginsSession { change.members["session"] = true }
            let device = try body.claim(for: owner, changing: known, state, as: request)
            let user = try give(device, of: owner, change)
            try change.apply(to: user, state, as: request)
            return device
        }
    }

    /// Gives a device to the user whom a request names, or to a new one without an external id if the name is
    /// empty.
    ///
    /// - Returns: its user afterwards.
    private func give(
        _ device: Device, of owner: UserID, _ change: PlayerChange
    ) throws(Failure) -> UserID {
        let profile = try state.users[owner].read()?.profile ?? Profile()
        let isAnonymous = Identity.isAnonymous(owner, profile)
        guard let user = change.externalID else {
            guard change.hasEmptyID, !isAnonymous else { return owner }
            let user = try state.makeAnonymousUser(request)
            try subscriptions.give(device, to: user)
            return user
        }
        guard user != owner else { return owner }
        // Without an external_id, the user's properties belong to this device.
        if isAnonymous, try state.name(owner, as: user) { return user }
        try subscriptions.give(device, to: user)
        return user
    }

    /// Changes the tags of a user.
    @export(interface)
    package func updateTags(of user: UserID) throws(Failure) -> Response {
        var fields = try request.fields()
        let tags = try fields.requiredObject("tags")
        try fields.finish(ignoring: ["app_id"])
        guard try state.users[user].read() != nil else { throw noUser }
        let change = try ProfileChange(Fields(["tags": .object(PropertiesBody.tags(tags))]))
        _ = try state.change(user, by: change, as: request)
        return .ok(["success": true])
    }

    package func view(_ id: String) throws(Failure) -> Response {
        let (user, device) = try subscriptions.find(id)
        guard let document = try state.users[user].read() else { throw noSubscription }
        return .ok(.object(shown(user, document.profile, device)))
    }

    /// A page of the devices that messages go to, in the order of the audience index.
    ///
    /// Each device has one place there, and a page has the places from `offset` on. One whose device has gone
    /// meanwhile stays empty, so that no other page shows a device again or leaves one out.
    @export(interface)
    package func list(in app: App) throws(Failure) -> Response {
        let limit = try request.number("limit", in: 0...300) ?? 300
        let offset = try request.number("offset", in: 0...10_000_000) ?? 0
        try state.audience.prepare { _ in }
        var reader = try state.audience.reader()
        let unread = Set(reader.unread)
        let page = offset..<(offset + limit)
        var total = 0
        var players: [JSONValue] = []
        func show(_ user: UserID, _ document: User, _ devices: [Device]) {
            for (number, device) in devices.enumerated() where page.contains(total + number) {
                let present = document.devices.first { $0.id == device.id }
                guard let present else { continue }
                players.append(.object(shown(user, document.profile, present)))
            }
        }
        // The devices of a user of whom only the document tells.
        func take(_ user: UserID) throws(Failure) {
            guard let document = try readable(user) else { return }
            let devices = document.devices.filter { $0.isOpenToMessages }
            show(user, document, devices)
            total += devices.count
        }
        while let shard = try reader.next() {
            for entry in shard.entries() {
                if !unread.isEmpty, let user = shard.name(of: entry.newest), unread.contains(user) {
                    continue
                }
                guard entry.isCertain else {
                    guard let user = shard.name(of: entry.newest) else { throw reader.damaged() }
                    try take(user)
                    continue
                }
                let count = shard.deviceCount(of: entry.newest)
                if page.overlaps(total..<(total + count)) {
                    guard let known = shard.user(of: entry.newest) else { throw reader.damaged() }
                    if let document = try readable(known.user) {
                        show(known.user, document, known.devices ?? [])
                    }
                }
                total += count
            }
        }
        for user in reader.unread { try take(user) }
        return .ok([
            "total_count": .integer(Int64(total)), "offset": .integer(Int64(offset)),
            "limit": .integer(Int64(limit)), "players": .array(players),
        ])
    }

    /// A user's document; `nil` if there is none, or it cannot be used, which is recorded for `health`.
    private func readable(_ user: UserID) throws(Failure) -> User? {
        do throws(Failure) { return try state.users[user].read() } catch {
            guard error.isDocumentSpecific else { throw error }
            error.recordFile()
            return nil
        }
    }

    private func shown(_ user: UserID, _ profile: Profile, _ device: Device) -> JSONObject {
        let types: [Int64] = [0, 1, 5]
        var members: JSONObject = [
            "id": .string(device.id),
            "device_type": .integer(
                types[Platform.all.firstIndex(of: device.platform) ?? 0]),
            "session_count": .integer(profile.sessionCount), "tags": .object(profile.tags),
            "invalid_identifier": .bool(device.quarantined != nil || !device.isEnabled),
            "created_at": .integer(device.created.seconds),
            "last_active": .integer((profile.lastSession ?? device.registered).seconds),
        ]
        members["language"] = profile.language.map { .string($0.text) }
        members["game_version"] = device.appVersion.map { .string($0) }
        members["device_model"] = device.model.map { .string($0) }
        members["device_os"] = device.system.map { .string($0) }
        if !Identity.isAnonymous(user, profile) {
            members["external_user_id"] = .string(user.text)
        }
        return members
    }
}

/// The part of a request of the older client about the user of a device.
private struct PlayerChange {
    let externalID: UserID?
    /// Whether it takes the device's user away.
    let hasEmptyID: Bool
    /// As members of `PATCH /api/users/{id}`.
    var members = JSONObject()

    init(_ fields: inout Fields) throws(Failure) {
        hasEmptyID = fields.rest["external_user_id"] == ""
        externalID = try fields.user("external_user_id")
        if let tags = try fields.object("tags") {
            members["tags"] = .object(PropertiesBody.tags(tags))
        }
        members["language"] = try fields.optionalText("language").map { .string($0) }
        members["timeZone"] = try fields.optionalText("timezone_id").map { .string($0) }
        members["country"] = try fields.optionalText("country").map { .string($0) }
        if let count = try fields.wholeNumber("session_count") {
            members["sessionCount"] = .integer(count)
        }
        for (name, ours) in [("created_at", "firstSession"), ("last_active", "lastSession")] {
            guard let moment = try fields.moment(name) else { continue }
            members[ours] = .string(CalendarDate(moment).text)
        }
        try fields.finish(ignoring: [
            "timezone", "ad_id", "sdk", "playtime", "badge_count", "external_user_id_auth_hash",
            "rooted", "net_type", "carrier",
        ]) { unknownHere($0) }
    }

    func apply(
        to user: UserID, _ state: State, as request: Request
    ) throws(Failure) {
        guard !members.members.isEmpty else { return }
        let change: ProfileChange
        do throws(Failure) { change = try ProfileChange(Fields(members)) } catch {
            throw error.renamed([("timeZone", "timezone_id"), ("sessionCount", "session_count")])
        }
        _ = try state.change(user, by: change, as: request)
    }
}
