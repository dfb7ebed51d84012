import Audiences
import Documents
import Edge
import Queueing
import Spool
import Store
import Turnstone
import Unix

/// Accepts messages and puts them into the spool.
package struct Outbox {
    let state: State
    let spools: Spools
    let now: Timestamp

    package init(_ state: State, now: Timestamp) {
        self.state = state
        spools = state.spools
        self.now = now
    }

    /// A message that was accepted.
    package struct Sent: Equatable {
        package let id: String
        /// The number of devices that the message is for, now or later.
        package let devices: Int
        /// The number of the users' devices that do not get it: ``AcceptedMessage/skipped(of:only:)``.
        package let skipped: Int
        /// The users for whom it was not accepted. It may be accepted for those in `later` soon; the
        /// documents of those in `failed` have to be repaired first.
        package let later: [String]
        package let failed: [String]
        /// The recipients whom nobody knew, as the request that was accepted gave them.
        package let unknownRecipients: JSONObject
        /// Whether an earlier request with the same idempotency key was accepted.
        package fileprivate(set) var isRepeated = false
    }

    /// Accepts a message: when this returns, it will be delivered, whatever happens.
    ///
    /// - Parameters:
    ///   - once: the key by which a repeated request is recognized. It gets the answer of the first one, even if
    ///     several processes handle it at the same time or were killed at any point.
    ///   - unknown: the recipients whom nobody knows, for the answer.
    /// - Throws: unacceptable if the key was used with a different request in the last 24 hours.
    @export(interface)
    package func send(
        _ message: Message, to audience: Audience, once: IdempotencyKey?,
        unknown: JSONObject = [:]
    ) throws(Failure) -> Sent {
        guard let once else {
            let audience = try audience.resolved(in: state)
            return try accept(
                message, audience, id: try newID(for: audience.onlyUser), nil, unknown)
        }
        return try state.messages.holding(once.text) { () throws(Failure) in
            let (id, record) = try state.messages.lookUp(key: once.text, at: now)
            guard let record else {
                return try accept(
                    message, audience.resolved(in: state), id: id, once.fingerprint, unknown)
            }
            return try repeated(record, id, once)
        }
    }

    /// The answer to the first request with a key; `nil` if there was none in the last 24 hours.
    ///
    /// - Throws: unacceptable if that was a different request.
    package func repeated(_ once: IdempotencyKey) throws(Failure) -> Sent? {
        try state.messages.holding(once.text) { () throws(Failure) in
            let (id, record) = try state.messages.lookUp(
                key: once.text, at: now, isClaiming: false)
            guard let record else { return nil }
            return try repeated(record, id, once)
        }
    }

    private func repeated(
        _ record: MessageRecord, _ id: String, _ once: IdempotencyKey
    ) throws(Failure) -> Sent {
        guard record.fingerprint == once.fingerprint else {
            throw .unacceptable("this idempotency key was used with a different request")
        }
        if let place = record.place { try spools.complete(id, in: place) }
        var sent = record.sent(id, record.unknownRecipients)
        sent.isRepeated = true
        return sent
    }

    private func accept(
        _ message: Message, _ audience: ResolvedAudience, id: String, _ fingerprint: String?,
        _ unknown: JSONObject
    ) throws(Failure) -> Sent {
        try prepare(audience)
        let erasures = try spools.erasures()
        var record = MessageRecord()
        record.accepted = now
        record.sendAfter = message.sendAfter
        record.kind = message.kind
        record.delayed = message.delayed
        record.throttle = message.throttle
        if case .add = message.badge { record.badge = message.badge }
        record.fingerprint = fingerprint
        record.receipts = try spools.receiptsStart(notBefore: message.sendAfter, at: now).json
        let accepted = AcceptedMessage(
            message: message, selection: audience.selection, now: now, services: state.services,
            endsOlderInBrowsers: try endsOlderInBrowsers(message, audience))
        var recipients = try Recipients(audience, accepted, state: state)
        var prepared: PreparedNotification?
        if try recipients.hasNext() {
            prepared = try spools.prepare(
                try notification(message, id: id, audience), to: &recipients,
                notBefore: message.sendAfter.map { .requested($0) }, since: erasures)
            try prepared?.makeFindable()
        } else if let failure = recipients.missed.first {
            // The message was accepted for nobody, so the request may be repeated.
            throw failure
        }
        record.place = prepared?.folder
        record.devices = prepared?.devices ?? 0
        record.skipped = recipients.skipped
        record.setMissed(recipients.missed)
        // Only a repeated request needs them again.
        if fingerprint != nil { record.unknownRecipients = unknown }
        // From now on a repeated request finds the record, and completes the notification.
        try state.messages.write(record, of: id)
        try prepared?.accept()
        return record.sent(id, unknown)
    }

    /// Estimates whom a message would reach: a phone of several users counts for each of them.
    @export(interface)
    package func count(
        _ audience: Audience
    ) throws(Failure) -> (users: Int, devices: Int, skipped: Int) {
        let audience = try audience.resolved(in: state)
        try prepare(audience)
        var count = (users: 0, devices: 0, skipped: 0)
        func add(_ devices: [Device], _ profile: Profile) {
            let selected = devices.filter {
                $0.isOpenToMessages
                    && audience.selection.admits(Facts(profile, $0), at: now)
            }
            let reached = selected.count { $0.takesMessages(by: state.services) }
            count.devices += reached
            count.skipped += selected.count - reached
            count.users += reached > 0 ? 1 : 0
        }
        var users = try UserSource(audience, audience.users, in: state)
        while let next = try users.next() {
            switch next {
            case .indexed(let user, let devices): add(devices, user.profile)
            case .listed(let user):
                do throws(Failure) {
                    guard let document = try state.users[user].read() else { continue }
                    add(document.devices, document.profile)
                } catch {
                    guard error.isDocumentSpecific else { throw error }
                    error.recordFile()
                }
            }
        }
        let named = Set(audience.users)
        for text in Set(audience.tokens) {
            guard let holders = try holders(of: text) else {
                count.devices += 1
                continue
            }
            // The devices of named users are counted already.
            let others = holders.filter { holder in
                !named.contains(holder.user) && holder.device.isOpenToMessages
                    && audience.selection.admits(Facts(holder.profile, holder.device), at: now)
            }
            if others.contains(where: { $0.device.takesMessages(by: state.services) }) {
                count.devices += 1
            } else if !others.isEmpty {
                count.skipped += 1
            }
        }
        return count
    }

    /// The users who have a token; `nil` if nobody has registered it. One whose document cannot be used is left
    /// out, as a message leaves it out.
    private func holders(
        of text: String
    ) throws(Failure) -> [(user: UserID, profile: Profile, device: Device)]? {
        var holders: [(user: UserID, profile: Profile, device: Device)] = []
        var isRegistered = false
        for token in DeviceToken.all(named: text) where !isRegistered {
            do throws(Failure) {
                for user in try state.tokens[token].read()?.users ?? [] {
                    do throws(Failure) {
                        guard let document = try state.users[user].read(),
                            let device = document.devices.first(where: { $0.token == token })
                        else { continue }
                        isRegistered = true
                        holders.append((user, document.profile, device))
                    } catch {
                        guard error.isDocumentSpecific else { throw error }
                        error.recordFile()
                        isRegistered = true  // it may be
                    }
                }
            } catch {
                // It is not known whose device it is.
                guard error.isDocumentSpecific else { throw error }
                error.recordFile()
                return []
            }
        }
        return isRegistered ? holders : nil
    }

    /// Makes the audience index if it is needed and not there.
    private func prepare(_ audience: ResolvedAudience) throws(Failure) {
        guard audience.isOpen else { return }
        var reported = Instant.now
        try state.audience.prepare { done in
            guard Instant.now - reported > .seconds(5) else { return }
            reported = .now
            Log().event("audience_index", ["parts": .integer(Int64(done)), "of": 256])
        }
    }

    private func notification(
        _ message: Message, id: String, _ audience: ResolvedAudience
    ) throws(Failure) -> Notification {
        var notification = Notification(
            id: id, user: audience.onlyUser, accepted: now, expires: message.expires,
            push: message.push)
        notification.kind = message.kind
        notification.audience = audience.selection.isOpen ? nil : audience.selection.json
        let order = try spools.nextOrder(at: now)
        notification.order = order
        notification.badge = message.badge
        notification.notBefore = message.notBefore
        notification.delayed = message.delayed
        notification.life = message.life
        notification.throttle = message.throttle
        notification.hasOwnExpiration = message.hasOwnExpiration
        notification.series = try series(of: message, audience, accepted: order)
        return notification
    }

    private func series(
        of message: Message, _ audience: ResolvedAudience, accepted order: Int64
    ) throws(Failure) -> Series? {
        guard message.subject != nil || message.push.collapseID != nil else { return nil }
        // If the user shares a device, messages to other users count too.
        let scope = try audience.onlyUser.flatMap { (user) throws(Failure) -> UserID? in
            let document = try state.users[user].read() ?? User()
            return try state.registry.sharesDevice(of: document, user)
                ? nil : document.formerID ?? user
        }
        return message.series(of: scope, now: now, accepted: order)
    }

    /// Whether a message that browsers cannot show may replace some that wait for browsers. For a message that
    /// is sent later, these may still be to come.
    private func endsOlderInBrowsers(
        _ message: Message, _ audience: ResolvedAudience
    ) throws(Failure) -> Bool {
        let type = message.push.type
        guard type == .alert || type == .background, !message.push.suits(.web),
            message.subject != nil || message.push.collapseID != nil
        else { return false }
        if message.sendAfter != nil || message.delayed != nil { return true }
        do throws(Failure) {
            guard let series = try series(of: message, audience, accepted: 0) else { return false }
            return try spools.mayReplace(series, on: .web)
        } catch {
            // The recipients tell about a user's document that cannot be used.
            guard error.isDocumentSpecific else { throw error }
            return false
        }
    }
}

extension MessageRecord {
    fileprivate func sent(_ id: String, _ unknown: JSONObject) -> Outbox.Sent {
        Outbox.Sent(
            id: id, devices: devices + held, skipped: skipped, later: later, failed: failed,
            unknownRecipients: unknown)
    }
}
