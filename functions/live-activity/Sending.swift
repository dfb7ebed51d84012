import Documents
import Spool
import Store
import Turnstone
import Unix

/// Queues a call.
struct Sending {
    let call: Call
    let spools: Spools
    let state: State

    enum Result: String {
        case queued, held, outdated
    }

    /// Queues it for its devices.
    func result() throws(Failure) -> Result {
        if call.target.isBroadcast, let channel = call.target.channel {
            return try broadcast(to: channel)
        }
        if let session = call.target.wholeSession { return try change(session) }
        let erasures = try spools.erasures()
        let devices = try devices()
        if call.event == .start { return try start(devices, since: erasures) }
        return try change(devices)
    }

    /// - Throws: not found if there are none.
    func devices() throws(Failure) -> [(user: UserID, device: Device)] {
        let devices = try call.target.devices(state.registry, state.users)
        guard !devices.isEmpty else { throw notFound }
        return devices
    }

    var notFound: Failure {
        .refused(
            .notFound,
            call.event == .start
                ? "Live Activity not found: the user has no start token for this attributesType"
                : "Live Activity not found: nothing that matches is registered")
    }

    /// Lets each device start an activity.
    private func start(
        _ devices: [(user: UserID, device: Device)], since erasures: Int64
    ) throws(Failure) -> Result {
        var aps: JSONObject = ["timestamp": .integer((call.moment ?? call.now).seconds)]
        for member in call.aps.members { aps[member.name] = member.value }
        try spools.accept(
            notification(id: try newID(for: devices[0].user), user: devices[0].user, aps),
            to: devices.map { $0.device.delivery() }, since: erasures)
        return .queued
    }

    /// Updates the activities.
    ///
    /// - Throws: too large if one of them must end with its newest state and the two do not fit together; a
    ///   conflict if it has no state or all have ended; not found if their users have just unregistered them.
    private func change(_ devices: [(user: UserID, device: Device)]) throws(Failure) -> Result {
        try checkEndHasState(devices.map { $0.device })
        var additions: [ActivityFeed.Addition] = []
        for (user, device) in devices {
            if let addition = try add(to: device, of: user) { additions.append(addition) }
        }
        guard !additions.isEmpty else { throw notFound }
        var result: Result?
        guard !additions.contains(.stateless) else { throw stateless("Live Activity") }
        guard !additions.contains(.tooLarge) else { throw tooLarge }
        for addition in additions {
            switch addition {
            case .ended, .tooLarge, .stateless: break
            case .outdated: result = result ?? .outdated
            case .carried(let carrier) where carrier.due <= call.now: return .queued
            case .carried: result = .held
            }
        }
        guard let result else { throw hasEnded }
        return result
    }

    /// Refuses an end without a state if one of the activities has no state to end with, before any of them
    /// ends.
    private func checkEndHasState(_ devices: [Device]) throws(Failure) {
        guard call.aps["content-state"] == nil else { return }
        for device in devices where device.activity?.known == nil {
            let session = try state.session(of: device)
            if session?.hasEnded(for: device.joined) == true { continue }
            guard session?.present?.known != nil else { throw stateless("Live Activity") }
        }
    }

    var hasEnded: Failure { .refused(.conflict, "Live Activity has ended") }

    func stateless(_ target: String) -> Failure {
        .refused(.conflict, "contentState is required: this \(target) has none yet")
    }

    var tooLarge: Failure {
        .refused(
            .tooLarge,
            "the end does not fit into \(Call.limit(call.target)) bytes with the last contentState; send a shorter contentState with it"
        )
    }

    /// Adds the state to the device's feed. The carrier is in the spool before the user's document counts it.
    ///
    /// - Returns: `nil` if the device is no longer the user's, or is not one that the call is for. It may
    ///   have another token by now.
    private func add(
        to known: Device, of user: UserID
    ) throws(Failure) -> ActivityFeed.Addition? {
        var alerting: String?
        while true {
            let held = alerting
            let addition = try holding(session: held) { () throws(Failure) in
                try add(to: known, of: user, held, &alerting)
            }
            if alerting == held { return addition }
        }
    }

    /// Runs `body` while holding a session's document, if one is given.
    private func holding<Result>(
        session: String?, _ body: () throws(Failure) -> Result
    ) throws(Failure) -> Result {
        guard let session else { return try body() }
        return try state.sessions[session].holding { (_, _) throws(Failure) in try body() }
    }

    /// - Parameters:
    ///   - held: the session whose document is held.
    ///   - alerting: set to the device's session if an alert waits there. The state may take it over only while
    ///     the session's document is held, or a drainer might send the alert at the same moment.
    private func add(
        to known: Device, of user: UserID, _ held: String?, _ alerting: inout String?
    ) throws(Failure) -> ActivityFeed.Addition? {
        let id = try newID(for: user)
        return try state.users[user].update {
            (document) throws(Failure) -> ActivityFeed.Addition? in
            guard let device = document.device(known.token, id: known.id),
                call.target.matches(device),
                let index = document.devices.firstIndex(where: { $0.token == device.token })
            else { return nil }
            let session = try state.session(of: device)
            if session?.hasEnded(for: device.joined) == true { return .ended }
            if held != device.sessionID,
                session?.feed(for: device.joined)?.waiting?.aps["alert"] != nil
            {
                alerting = device.sessionID
                return nil
            }
            var feed = device.activity ?? ActivityFeed()
            try dropLostCarrier(of: &feed)
            // A listener that joined after the session's last state did not get that state, but the others
            // show it.
            let addition = feed.add(
                call.aps, priority: call.priority, at: call.moment, expires: call.expires,
                now: call.now, id: id, besides: session?.feed(for: device.joined),
                content: session?.present?.known?.aps["content-state"], fits: call.fits)
            if case .carried(let carrier) = addition, carrier.id == id {
                var carrying = notification(id: id, user: user, call.aps)
                carrying.cargo = .activity
                try spools.accept(
                    carrying, to: [device.delivery()],
                    notBefore: carrier.due > call.now ? .putOff(until: carrier.due) : nil)
            }
            if case .carried = addition { document.devices[index].activity = feed }
            return addition
        }
    }

    /// Forgets a carrier whose notification is no longer in the spool, because its file was removed or
    /// damaged: later states must still be sent.
    func dropLostCarrier(of feed: inout ActivityFeed) throws(Failure) {
        if let carrier = feed.carrier, try !spools.contains(carrier.id) { feed.dropCarrier() }
    }

    func notification(id: String, user: UserID?, _ aps: JSONObject) -> Notification {
        Notification(
            id: id, user: user, accepted: call.now, expires: call.expires,
            push: PushContent(
                type: .liveActivity, priority: call.priority, collapseID: nil,
                payload: Payload(aps: aps)))
    }
}
