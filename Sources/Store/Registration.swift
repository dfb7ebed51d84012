import Crypto
import Turnstone

/// A token as an app registers it.
package struct Registration {
    package let token: DeviceToken
    package var kind = TokenKind.device
    package var platform = Platform.ios
    /// Where APNs knows the token; `nil` leaves what is known of it.
    package var environment: APNsEnvironment?
    /// `nil` leaves what is known.
    package var name: String?
    /// `nil` leaves what is known.
    package var appVersion: String?
    /// The token that this one takes the place of.
    package var previous: DeviceToken?
    /// Of a Live Activity: the number of its session's newest state, and how many of them were taken.
    var joined: (number: Int64, turn: Int64) = (0, 0)

    package init(_ token: DeviceToken) {
        self.token = token
    }

    /// Whether it says nothing of a device that the indices do not know.
    func renews(_ device: Device) -> Bool { device.token == token && device.kind == kind }

    /// Takes over what is known of the token from its previous owners.
    mutating func inherit(_ devices: [Device]) {
        for device in devices where device.platform == platform {
            environment = environment ?? device.environment
        }
    }

    /// Whether it takes the place of a device: of the one with the previous token, and of that of the same Live
    /// Activity, since an activity has one token at a time.
    fileprivate func replaces(_ device: Device) -> Bool {
        guard device.token != token else { return false }
        if device.token == previous { return true }
        guard case .liveActivity(let activity?, _) = kind else { return false }
        return device.activityID.map { isSame($0, activity) } ?? false
    }
}

extension TokenKind {
    /// Whether it is good for Live Activities only.
    var isLiveActivity: Bool { self != .device }
}

extension User {
    /// Takes in a registration: of a device that is known, of one with a new token, or of a new one.
    ///
    /// - Returns: the device, and what the user had before and has not any more.
    /// - Throws: a conflict where it would be one more than a user may have.
    mutating func add(
        _ registration: Registration, within quotas: Quotas, at time: Timestamp
    ) throws(Failure) -> (device: Device, left: [Device]) {
        let before = devices.count
        let result = add(registration, at: time)
        guard devices.count > before else { return result }
        let isActivity = registration.kind.isLiveActivity
        let most = isActivity ? quotas.activities : quotas.devices
        guard devices.count(where: { $0.kind.isLiveActivity == isActivity }) <= most else {
            throw .refused(
                .conflict,
                isActivity
                    ? "a user may have \(most) Live Activity tokens; unregister one first"
                    : "a user may have \(most) devices; unregister one first")
        }
        return result
    }

    private mutating func add(
        _ registration: Registration, at time: Timestamp
    ) -> (device: Device, left: [Device]) {
        let place = place(of: registration)
        let before = place.map { devices[$0] }
        var device = before ?? newDevice(registration.token, at: time)
        if device.kind.session != registration.kind.session || before == nil {
            device.joined = registration.joined.number
            device.activity?.follow(
                after: registration.joined.number, turn: registration.joined.turn)
        }
        device.take(registration, at: time)
        silence = nil
        for replaced in devices where registration.replaces(replaced) && replaced.id != device.id {
            device.takeOver(replaced)
        }
        if let place { devices[place] = device } else { devices.append(device) }
        var left = before.map { registration.renews($0) ? [] : [$0] } ?? []
        left += devices.filter { registration.replaces($0) || $0.isOver(at: time) }
        devices.removeAll { registration.replaces($0) || $0.isOver(at: time) }
        return (device, left)
    }

    /// The device that a registration renews, or whose token it replaces.
    func place(of registration: Registration) -> Int? {
        devices.firstIndex { $0.token == registration.token }
            ?? devices.firstIndex { registration.replaces($0) }
    }

    /// A device that was not known; its token may once have been another one's that is still here.
    private func newDevice(_ token: DeviceToken, at time: Timestamp) -> Device {
        var device = Device(token, registered: time)
        if devices.contains(where: { $0.ids.contains(device.id) }) {
            device.firstID = publicID(of: "\(token.text) \(time.milliseconds)")
        }
        return device
    }
}

extension Device {
    /// Leaves its session for another one, or for none, keeping what it has got by it.
    ///
    /// - Parameters:
    ///   - token: with which it is registered now.
    ///   - isMissed: whether a notification still waits to be sent to the device, and has not been.
    mutating func leave(
        _ session: SessionFeeds, with token: DeviceToken, at time: Timestamp,
        isMissed: (_ carrier: String) throws(Failure) -> Bool
    ) throws(Failure) {
        guard let last = session.last(for: joined) else { return }
        let isMissed = last.state.isEnd ? try isMissed(last.carrier) : false
        var feed = activity ?? ActivityFeed()
        if last.state.isEnd, !isMissed, token != self.token, feed.known?.isEnd != true {
            // The token of an activity that has ended is never replaced: this one is another activity's.
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
        quarantined = nil
        refusals = nil
        guard time > registered else { return }
        firstRegistered = created
        registered = time
    }

    /// Stands for another device as well, whose token its own has replaced.
    fileprivate mutating func takeOver(_ other: Device) {
        formerIDs = (formerIDs + other.formerIDs + [other.id]).suffix(8)
        if kind == other.kind { activity = activity ?? other.activity }
    }

    /// Whether it is a Live Activity's that nobody can see any more, or has been in quarantine for so long that nobody
    /// misses it.
    fileprivate func isOver(at time: Timestamp) -> Bool {
        if let quarantined, time - quarantined > .days(30) { return true }
        return isOldActivity(at: time)
    }

    /// Whether it is a Live Activity's that nobody can see any more.
    func isOldActivity(at time: Timestamp) -> Bool {
        guard case .liveActivity = kind else { return false }
        // It ends after 8 hours at the latest, and leaves the lock screen 4 hours later.
        return time - registered > .hours(24)
    }
}
