import Crypto
import Turnstone

/// A token as an app registers it.
package struct Registration {
    package let token: DeviceToken
    package var kind = TokenKind.device
    package var platform = Platform.ios
    /// The APNs environment that has the token; `nil` leaves the known value.
    package var environment: APNsEnvironment?
    /// `nil` leaves the known value.
    package var name: String?
    /// `nil` leaves the known value.
    package var appVersion: String?
    /// The token that this one replaces.
    package var previous: DeviceToken?
    /// Whether the user must still have the device that ``previous`` names: it may have gone to another user.
    package var requiresPrevious = false
    /// The model and the operating system as the app names them; `nil` leaves the known value.
    package var model: String?
    package var system: String?
    /// Whether messages to it are allowed; `nil` leaves the known value.
    package var isEnabled: Bool?
    /// The device that another user had, if it moves with its id and all that is known of it.
    private(set) var moved: Device?
    /// Whether a killed program has begun to move it.
    var isResumed = false
    /// For a Live Activity: the number of its session's newest state, and how many of the session's states
    /// were taken.
    var joined: (number: Int64, turn: Int64) = (0, 0)

    package init(_ token: DeviceToken) {
        self.token = token
    }

    /// Whether it moves a device and no killed program has begun that.
    var isFreshMove: Bool { moved != nil && !isResumed }

    /// A device that moves to another user.
    init(moving device: Device) {
        token = device.token
        kind = device.kind
        platform = device.platform
        moved = device
    }

    /// Whether the indices already know everything that it says about a device.
    func renews(_ device: Device) -> Bool { device.token == token && device.kind == kind }

    /// Inherits what is known about the token from its previous owners.
    mutating func inherit(_ devices: [Device]) {
        if moved != nil, let device = devices.first { moved = device }
        for device in devices where device.platform == platform {
            environment = environment ?? device.environment
        }
    }

    /// Whether the user still has the device that it changes.
    func findsDevice(in document: User) -> Bool {
        !requiresPrevious
            || document.devices.contains { $0.token == token || $0.token == previous }
    }

    /// Whether it replaces a device: the one with the previous token, the browser with the same endpoint, or
    /// the one of the same Live Activity, because an activity has one token at a time.
    fileprivate func replaces(_ device: Device) -> Bool {
        guard device.token != token else { return false }
        if device.token == previous { return true }
        // A browser that renews its keys. The endpoint belongs to one subscription.
        if platform == .web, device.platform == .web, let endpoint = token.endpoint,
            device.token.endpoint.map({ isSame($0, endpoint) }) ?? false
        {
            return true
        }
        guard case .liveActivity(let activity?, _) = kind else { return false }
        return device.activityID.map { isSame($0, activity) } ?? false
    }
}

extension TokenKind {
    /// Whether tokens of this kind are for Live Activities only.
    var isLiveActivity: Bool { self != .device }
}

extension User {
    /// Adds a registration: it renews a known device, gives one a new token, or adds a device.
    ///
    /// - Returns: the device, and the devices that the user no longer has.
    /// - Throws: a conflict if the user would have more devices than allowed.
    mutating func add(
        _ registration: Registration, within quotas: Quotas, at time: Timestamp
    ) throws(Failure) -> (device: Device, left: [Device]) {
        let isActivity = registration.kind.isLiveActivity
        func count() -> Int { devices.count { $0.kind.isLiveActivity == isActivity } }
        // A token may become one of the other kind.
        let before = count()
        let result = add(registration, at: time)
        isErasing = false
        let limit = isActivity ? quotas.activities : quotas.devices
        guard count() <= max(before, limit) else {
            throw .refused(
                .conflict,
                isActivity
                    ? "this user has as many Live Activity tokens as allowed (\(limit)); unregister one first"
                    : "this user has as many devices as allowed (\(limit)); unregister one first")
        }
        return result
    }

    private mutating func add(
        _ registration: Registration, at time: Timestamp
    ) -> (device: Device, left: [Device]) {
        let place = place(of: registration)
        let before = place.map { devices[$0] }
        let arriving = before == nil ? registration.moved.map { arrived($0, at: time) } : nil
        var device = before ?? arriving ?? newDevice(registration.token, at: time)
        if device.kind.session != registration.kind.session || before == nil {
            device.joined = registration.joined.number
            device.activity?.follow(
                after: registration.joined.number, turn: registration.joined.turn)
        }
        if arriving == nil { device.take(registration, at: time) }
        silence = nil
        for replaced in devices where registration.replaces(replaced) && replaced.id != device.id {
            device.takeOver(replaced)
        }
        if let place { devices[place] = device } else { devices.append(device) }
        var left = before.map { registration.renews($0) ? [] : [$0] } ?? []
        left += devices.filter { registration.replaces($0) || $0.isExpired(at: time) }
        devices.removeAll { registration.replaces($0) || $0.isExpired(at: time) }
        return (device, left)
    }

    /// The device that a registration renews, or whose token it replaces.
    func place(of registration: Registration) -> Int? {
        devices.firstIndex { $0.token == registration.token }
            ?? devices.firstIndex { registration.replaces($0) }
    }

    /// A device as another user had it, without what concerned that user. If its id is a listed device's, it
    /// gets another one.
    private func arrived(_ moved: Device, at time: Timestamp) -> Device {
        var device = moved
        device.notice = 0
        device.shownTurns = nil
        device.activity = nil
        if devices.contains(where: { known in known.ids.contains { moved.ids.contains($0) } }) {
            device.firstID = publicID(of: "\(moved.token.text) \(time.milliseconds)")
            device.formerIDs = []
        }
        return device
    }

    /// A new device. If its token once belonged to a device that is still listed, it gets another id.
    private func newDevice(_ token: DeviceToken, at time: Timestamp) -> Device {
        var device = Device(token, registered: time)
        if devices.contains(where: { $0.ids.contains(device.id) }) {
            device.firstID = publicID(of: "\(token.text) \(time.milliseconds)")
        }
        return device
    }
}

extension Device {
    /// Leaves its session for another one, or for none. It keeps what it got from the session.
    ///
    /// - Parameters:
    ///   - token: the token that it is registered with now.
    ///   - isMissed: whether a notification for the device still waits and was never sent.
    mutating func leave(
        _ session: SessionFeeds, with token: DeviceToken, at time: Timestamp,
        isMissed: (_ carrier: String) throws(Failure) -> Bool
    ) throws(Failure) {
        guard let last = session.last(for: joined) else { return }
        let isMissed = last.state.isEnd ? try isMissed(last.carrier) : false
        var feed = activity ?? ActivityFeed()
        if last.state.isEnd, !isMissed, token != self.token, feed.known?.isEnd != true {
            // An ended activity never gets a new token, so this is another activity's token.
            return activity = nil
        }
        feed.leave(after: last, isMissed: isMissed, now: time)
        activity = feed
    }

    fileprivate mutating func take(_ registration: Registration, at time: Timestamp) {
        if token != registration.token {
            firstID = id
            token = registration.token
            reached = nil
        }
        kind = registration.kind
        platform = registration.platform
        environment = registration.environment ?? environment
        name = registration.name ?? name
        appVersion = registration.appVersion ?? appVersion
        model = registration.model ?? model
        system = registration.system ?? system
        isEnabled = registration.isEnabled ?? isEnabled
        quarantined = nil
        refusals = nil
        guard time > registered else { return }
        firstRegistered = created
        registered = time
    }

    /// Takes the place of another device too, whose token was replaced by its own.
    fileprivate mutating func takeOver(_ other: Device) {
        formerIDs = (formerIDs + other.formerIDs + [other.id]).suffix(8)
        if kind == other.kind { activity = activity ?? other.activity }
    }

    /// Whether it belongs to a Live Activity that nobody can see any more, or has been in quarantine for more
    /// than 30 days.
    fileprivate func isExpired(at time: Timestamp) -> Bool {
        if let quarantined, time - quarantined > .days(30) { return true }
        return isOldActivity(at: time)
    }

    /// Whether it belongs to a Live Activity that nobody can see any more.
    func isOldActivity(at time: Timestamp) -> Bool {
        guard case .liveActivity = kind else { return false }
        // An activity ends after 8 hours at the latest and leaves the lock screen 4 hours later.
        return time - registered > .hours(24)
    }
}
