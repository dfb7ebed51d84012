import Documents
import Spool
import Store
import Turnstone
import Unix

/// The documents that pushes are decided by. The last one of a kind is kept: many pushes in a row may need
/// the same.
final class LastDocuments: RunPart {
    let run: Run
    private var user: StoredDocument<User>.Snapshot?
    /// Where the last user's document is: the path holds a hash.
    private var place: (user: UserID, document: StoredDocument<User>)?
    private var session: StoredDocument<Holders>.Snapshot?
    /// The last document's stamp and when it was read: it holds for a millisecond.
    private var stamp: (user: UserID, moment: Instant, stamp: Int64?)?

    init(_ run: Run) { self.run = run }

    func user(_ id: UserID) throws(Failure) -> User {
        let (known, snapshot) = try document(of: id).read(unless: user)
        user = snapshot
        return known ?? User()
    }

    private func document(of id: UserID) -> StoredDocument<User> {
        if let place, place.user == id { return place.document }
        let document = state.users[id]
        place = (id, document)
        return document
    }

    /// What was sent to a session as a whole. Its document may name thousands of listeners.
    func session(_ name: String) throws(Failure) -> SessionFeeds? {
        let (known, snapshot) = try state.sessions[name].read(unless: session)
        session = snapshot
        return known?.session
    }

    /// Whether the user's document is still the one by which the delivery was accepted.
    func isAsAccepted(_ delivery: Delivery, of user: UserID) -> Bool {
        guard let accepted = delivery.stamp else { return false }
        let moment = Instant.now
        if let last = stamp, last.moment == moment, last.user == user {
            return last.stamp == accepted
        }
        let present = document(of: user).stamp
        stamp = (user, moment, present)
        return present == accepted
    }

    /// What a user's preferences say of a message now.
    func passage(of notification: Notification, by document: User) -> Preferences.Passage {
        document.preferences.passage(
            notification.isClear ? nil : notification.kind, isExempt: notification.push.isExempt,
            at: now, WallClock.minute)
    }

    /// A message's record; `nil` also if it cannot be read: other held messages must not wait for it.
    func record(of message: String) -> MessageRecord? {
        do throws(Failure) { return try state.messages.find(message) } catch {
            log.failure(error)
            return nil
        }
    }
}
