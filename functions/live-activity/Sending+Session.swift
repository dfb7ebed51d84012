import Documents
import Spool
import Store
import Turnstone

extension Sending {
    /// Updates all activities that listen to a session with one state, one notification and one commit. The
    /// carrier is in the spool before the session's document counts it.
    ///
    /// - Throws: not found if nobody listens; a conflict if all listeners have ended.
    func change(_ session: String) throws(Failure) -> Result {
        let id = try newID(for: nil)
        let document = state.sessions[session]
        // Checked first without the lock, so that unknown names leave no lock files.
        guard try document.read()?.users.isEmpty == false else { throw notFound }
        let erasures = try spools.erasures()
        return try document.update { (holders) throws(Failure) in
            // Under the lock, so that a device that registers meanwhile is either among them or gets the
            // later states.
            let open = try devices().filter { (_, device) in
                !holders.session.hasEnded(for: device.joined)
                    && device.activity?.known?.isEnd != true
            }
            guard !open.isEmpty else { throw hasEnded }
            var feed = holders.session.present ?? ActivityFeed()
            try dropLostCarrier(of: &feed)
            // A listener that joined after the carrier was made is not among its devices.
            if open.contains(where: { $0.device.joined >= holders.session.first }) {
                feed.dropCarrier()
            }
            try checkEnd(of: open.map { $0.device }, known: feed.known)
            let addition = feed.add(
                call.aps, priority: call.priority, at: call.moment, expires: call.expires,
                now: call.now, id: id, for: .session, fits: call.fits)
            guard addition != .tooLarge else { throw tooLarge }
            guard case .carried(let carrier) = addition else { return .outdated }
            if carrier.id == id {
                var carrying = notification(id: id, user: nil, call.aps)
                carrying.cargo = .activity
                carrying.session = session
                try spools.accept(
                    carrying,
                    to: open.lazy.map { $0.device.delivery(of: $0.user) },
                    notBefore: carrier.due > call.now ? .putOff(until: carrier.due) : nil,
                    since: erasures)
            }
            try holders.session.replaceFeed(
                with: feed, isCarrierNew: carrier.id == id,
                isOpen: { (id) throws(Failure) in try spools.mayContain(id) })
            return carrier.due > call.now ? .held : .queued
        }
    }

    /// Refuses an end that would show listeners nothing: it has no state of its own and neither the session
    /// nor some listener was sent one, or a listener's state leaves no room.
    private func checkEnd(
        of listeners: [Device], known: ActivityFeed.State?
    ) throws(Failure) {
        guard call.aps["content-state"] == nil, known == nil else { return }
        for listener in listeners {
            var aps = call.aps
            aps["content-state"] = listener.activity?.known?.aps["content-state"]
            guard aps["content-state"] != nil else { throw stateless("session") }
            guard call.fits(aps) else { throw tooLarge }
        }
    }
}
