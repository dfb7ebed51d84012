import Documents
import Spool
import Store
import Turnstone

extension Sending {
    /// Changes what all activities show that listen to a session: one state, one notification and one commit for all of
    /// them, with the carrier in the spool before that counts.
    ///
    /// - Throws: not found where nobody listens; a conflict where they all have ended.
    func change(_ session: String) throws(Failure) -> Result {
        let id = try newID(for: nil)
        let document = state.sessions[session]
        // Without a lock's file for each name that somebody makes up.
        guard try document.read()?.users.isEmpty == false else { throw notFound }
        let erasures = try spool.erasures()
        return try document.update { (holders) throws(Failure) in
            // Under the lock: whoever registers meanwhile is either among them, or gets what comes later.
            let open = try devices().filter { (_, device) in
                !holders.session.hasEnded(for: device.joined)
                    && device.activity?.known?.isEnd != true
            }
            guard !open.isEmpty else { throw hasEnded }
            var feed = holders.session.present ?? ActivityFeed()
            try dropLostCarrier(of: &feed)
            // Who has come since it was made is not among those whom it is for.
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
                try spool.accept(
                    carrying,
                    to: open.lazy.map { $0.device.delivery(of: $0.user) },
                    notBefore: carrier.due > call.now ? .putOff(until: carrier.due) : nil,
                    since: erasures)
            }
            try holders.session.note(
                feed, isCarrierNew: carrier.id == id,
                isOpen: { (id) throws(Failure) in try spool.contains(id) })
            return carrier.due > call.now ? .held : .queued
        }
    }

    /// Refuses an end that would show listeners nothing: without a state of its own, where none was sent to the session and
    /// not to each of them either, or where theirs leave no room.
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
