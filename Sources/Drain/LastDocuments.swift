import Documents
import Spool
import Store
import Turnstone
import Unix

/// The documents that decide about pushes. The last one of each kind is kept, because many pushes in a row
/// may need it.
final class LastDocuments: RunPart {
    let run: Run
    private var user: StoredDocument<User>.Snapshot?
    /// The last user's document: finding its path takes a hash.
    private var place: (user: UserID, document: StoredDocument<User>)?
    /// By id, those that were looked up for the push that is decided about.
    private var presentIDs: [UserID: UserID] = [:]
    private var session: StoredDocument<Holders>.Snapshot?
    /// The last document's stamp and when it was read. It is used within the same millisecond.
    private var stamp: (user: UserID, moment: Instant, stamp: Int64?)?

    init(_ run: Run) { self.run = run }

    func user(_ id: UserID) throws(Failure) -> User {
        let (known, snapshot) = try document(of: id).read(unless: user)
        user = snapshot
        return known ?? User()
    }

    /// The user of a push, by the present id: ``State/present(_:)``.
    func user(of push: Push) throws(Failure) -> UserID? {
        guard let user = push.job.file.user(of: push.delivery) else { return nil }
        guard user.mayHaveChanged, !isAsAccepted(push.delivery, of: user) else { return user }
        return try present(user)
    }

    /// ``State/present(_:)``. Within ``knowingIDs(_:)``, it is always the same.
    func present(_ id: UserID) throws(Failure) -> UserID {
        guard id.mayHaveChanged else { return id }
        if let known = presentIDs[id] { return known }
        let (known, snapshot) = try document(of: id).read(unless: user)
        user = snapshot
        let present = known == nil ? try state.successor(of: id) ?? id : id
        presentIDs[id] = present
        return present
    }

    /// Decides about a push. If the decision is not to send it, but a user has got another id meanwhile, the
    /// push is decided about again soon: the documents were looked for under the old id.
    func knowingIDs(_ decide: () throws(Failure) -> Verdict?) throws(Failure) -> Verdict? {
        if !presentIDs.isEmpty { presentIDs = [:] }
        let verdict = try decide()
        guard case .settled(.superseded) = verdict?.meaning else { return verdict }
        for (id, present) in presentIDs where try state.present(id) != present { return .soon }
        return verdict
    }

    /// The ids, other than these, by which users who have the token know its device. A document that cannot
    /// be used names none: it must not hold up this user's messages.
    func otherIDs(of token: DeviceToken, than known: [String]) throws(Failure) -> [String] {
        do throws(Failure) {
            return try state.registry.deviceIDs(of: token).filter { !known.contains($0) }
        } catch {
            guard error.isDocumentSpecific else { throw error }
            error.recordFile()
            return []
        }
    }

    /// A push's device, by all ids by which its user may have it in the spool. Those of other users may be
    /// other phones.
    func userDevices(of push: Push, on device: Device) throws(Failure) -> [UserDevice] {
        let users = [nil, push.job.notification.user, try user(of: push)]
        return users.flatMap { user in device.ids.map { UserDevice(user, $0) } }
    }

    /// All ids by which a device is known, first the user's own.
    func phoneIDs(of device: Device) throws(Failure) -> [String] {
        try device.ids + otherIDs(of: device.token, than: device.ids)
    }

    private func document(of id: UserID) -> StoredDocument<User> {
        if let place, place.user == id { return place.document }
        let document = state.users[id]
        place = (id, document)
        return document
    }

    /// The states sent to a session as a whole. (The session's document may name thousands of listeners.)
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

    /// Whether the user's preferences let a message pass now to the devices of this queue's service.
    func passage(of notification: Notification, by document: User) -> Preferences.Passage {
        document.preferences.passage(
            notification.isClear ? nil : notification.kind,
            isExempt: notification.push.isExempt(on: spool.service), at: now, WallClock.minute)
    }

    /// A message's record; `nil` also if it cannot be read, because other held messages must not wait for it.
    func record(of message: String) -> MessageRecord? {
        do throws(Failure) { return try state.messages.find(message) } catch {
            log.failure(error)
            return nil
        }
    }
}
