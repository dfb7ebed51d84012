import Crypto
import Spool
import Store
import Turnstone
import Unix

/// The way of a message to each of its users: every message passes here, once for each user, with all that is known
/// of the user.
struct Passage {
    let message: Message
    /// The message's.
    let id: String
    let now: Timestamp
    let state: State

    enum Result {
        /// To these devices; none where the user does not want the kind.
        case open([Delivery])
        /// To so many devices, when the user wants to be told again.
        case held(devices: Int)
    }

    /// What the message comes to for a user, on all devices or on one.
    ///
    /// - Parameter stamp: of the document, taken before it was read.
    func pass(
        to user: UserID, _ document: User, stamp: Int64?, only device: Device? = nil
    ) throws(Failure) -> Result {
        let devices = document.devices.filter {
            $0.takesMessages && (device == nil || $0.token == device?.token)
        }
        guard !devices.isEmpty else { return .open([]) }
        let passage = document.preferences.passage(
            message.kind, isExempt: message.isExempt, at: message.sendAfter ?? now, WallClock.minute
        )
        if passage == .closed { return .open([]) }
        let badge = try badge(of: user, document)
        if case .held(let moment) = passage {
            try hold(until: moment, for: user, only: device, count: devices.count, badge: badge)
            return .held(devices: devices.count)
        }
        // Quiet hours begin without a change of the document.
        let isLasting = message.isExempt || document.preferences.quietHours == nil
        return .open(
            devices.map { device in
                var delivery = Delivery(
                    token: device.token, id: device.changedID, environment: device.environment,
                    user: user, badge: badge.map { Int($0) }, isProven: device.reached != nil)
                delivery.stamp = isLasting ? stamp : nil
                return delivery
            })
    }

    /// The user's devices that would get the message, if there were a push service for their platform.
    func skipped(of document: User, only token: DeviceToken? = nil) -> [Device] {
        let devices = document.devices.filter {
            $0.isSkipped && (token == nil || $0.token == token)
        }
        guard !devices.isEmpty else { return [] }
        let passage = document.preferences.passage(
            message.kind, isExempt: message.isExempt, at: message.sendAfter ?? now, WallClock.minute
        )
        return passage == .closed ? [] : devices
    }

    /// Changes the user's badge, where the message does.
    ///
    /// - Returns: the number, where it is the user's own and not the message's.
    private func badge(of user: UserID, _ document: User) throws(Failure) -> Int64? {
        guard let change = message.badge else { return nil }
        if case .set(let number) = change, document.badge == number { return nil }
        let badge = try state.users.update(DocumentName(user)) { document in
            document.changeBadge(change, messageID: id)
            return document.badge
        }
        if case .set = change { return nil }
        return badge
    }

    /// Puts the message to those that wait for the user, with a reminder in the spool before that counts.
    ///
    /// - Parameters:
    ///   - device: the one that it is for; `nil` for all that the user has then.
    ///   - count: how many devices it is for.
    private func hold(
        until moment: Timestamp, for user: UserID, only device: Device?, count: Int, badge: Int64?
    ) throws(Failure) {
        var payload = message.payload.object ?? [:]
        if let badge, var aps = payload["aps"]?.object {
            aps["badge"] = .integer(badge)
            payload["aps"] = .object(aps)
        }
        let held = HeldMessages.Message(
            id: id, kind: message.kind, payload: payload, collapseID: message.collapseID,
            device: device?.id,
            count: Int64(count),
            // It was not said that it is worth nothing in the morning.
            expires: message.hasOwnLife
                ? message.expires : max(message.expires, moment + .hours(12)))
        try state.users.update(DocumentName(user)) { (document) throws(Failure) in
            guard document.held.add(held, until: moment), let device = document.devices.first else {
                return
            }
            var reminder = Notification(
                id: stableUUID("held \(hex(try randomBytes(16)))"), user: user, accepted: now,
                expires: moment + .days(2),
                push: PushContent(
                    type: "alert", priority: 10, collapseID: nil, payload: .object(payload)))
            reminder.cargo = .messages
            try Spool(state: state.folder).accept(
                reminder, to: [Delivery(token: device.token, environment: device.environment)],
                notBefore: .putOff(until: moment))
        }
    }
}
