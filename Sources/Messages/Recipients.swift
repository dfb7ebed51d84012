import Crypto
import Documents
import Spool
import Store
import Turnstone

/// The deliveries of a message, each device once. They are looked up one after the other, so that a hundred
/// thousand of them are never in memory together. If several of the users have a device, the delivery to the
/// first is followed by an alternate for each of the others.
struct Recipients: DeliverySource {
    private let state: State
    private let message: AcceptedMessage
    private var users: UserSource
    private var tokens: ArraySlice<String>
    /// The users who get the message on all of their devices. Only needed for tokens, otherwise empty.
    private let namedUsers: Set<UserID>
    /// The remaining deliveries of the last user or token that was looked up.
    private var found: ArraySlice<Delivery> = []
    /// The next delivery, if ``hasNext()`` has looked it up.
    private var upcoming: Delivery?
    /// The devices' numbers, by the first eight bytes of their tokens' SHA-256 and their services, which is
    /// enough to tell any number of devices apart. `nil` for a skipped device.
    private var numbers: [UInt64: Int32?] = [:]
    private var count: Int32 = 0
    /// The user of all deliveries, if there is only one: then the deliveries do not name the user.
    private let onlyUser: UserID?
    /// The number of the users' devices that do not get it: ``AcceptedMessage/skipped(of:only:)``.
    private(set) var skipped = 0
    /// The users whose documents could not be used. The others get the message nevertheless.
    private(set) var missed = MissedUsers()

    init(
        _ audience: ResolvedAudience, _ message: AcceptedMessage, state: State
    ) throws(Failure) {
        self.state = state
        self.message = message
        users = try UserSource(audience, distinct(audience.users), in: state)
        tokens = distinct(audience.tokens)[...]
        namedUsers = tokens.isEmpty ? [] : Set(audience.users)
        onlyUser = audience.onlyUser
    }

    /// Whether there is another delivery.
    mutating func hasNext() throws(Failure) -> Bool {
        if upcoming == nil { upcoming = try next() }
        return upcoming != nil
    }

    mutating func next() throws(Failure) -> Delivery? {
        if let delivery = upcoming {
            upcoming = nil
            return delivery
        }
        while true {
            if var delivery = found.popFirst() {
                guard let token = delivery.token else { continue }
                let key = digestPrefix(of: token, delivery.service)
                if let known = numbers[key] {
                    guard let number = known, delivery.user != nil else { continue }
                    delivery.setAlternate(to: Int(number))
                    return delivery
                }
                numbers[key] = .some(count)
                count += 1
                if onlyUser != nil { delivery.user = nil }
                return delivery
            }
            if let next = try users.next() {
                switch next {
                case .indexed(let user, let devices):
                    let selected = message.selected(user, devices)
                    skip(selected.filter { message.isSkipped($0) })
                    found =
                        selected.filter { message.takes($0) }.map { $0.delivery(of: user.user) }[
                            ...]
                case .listed(let user):
                    do throws(Failure) { found = try deliveries(to: user)[...] } catch {
                        missed.add(user, error)
                    }
                }
            } else if let text = tokens.popFirst() {
                found = try deliveries(toToken: text)[...]
            } else {
                return nil
            }
        }
    }

    private mutating func deliveries(to user: UserID) throws(Failure) -> [Delivery] {
        let file = state.users[user]
        let stamp = file.stamp
        guard let document = try file.read() else { return [] }
        skip(message.skipped(of: document))
        return message.deliveries(to: user, document, stamp: stamp)
    }

    private mutating func skip(_ devices: [Device]) {
        for device in devices { skip(device.token, device.platform.service) }
    }

    private mutating func skip(_ token: DeviceToken, _ service: PushService) {
        let key = digestPrefix(of: token, service)
        guard numbers[key] == nil else { return }
        numbers[key] = .some(nil)
        skipped += 1
    }

    /// A delivery to the device for each user who has registered it, or one without a user if nobody has.
    private mutating func deliveries(toToken text: String) throws(Failure) -> [Delivery] {
        guard let raw = RawToken(text) else { return [] }
        let tokenStamp = state.tokens[raw.token].stamp
        do throws(Failure) {
            for token in DeviceToken.all(named: text) {
                if let deliveries = try deliveries(to: token) { return deliveries }
            }
        } catch {
            // It is not known whose device it is. The others get the message.
            guard error.isDocumentSpecific else { throw error }
            error.recordFile()
            skip(raw.token, raw.service)
            return []
        }
        guard message.concerns(raw.service) else {
            skip(raw.token, raw.service)
            return []
        }
        var delivery = Delivery(token: raw.token, of: raw.service, environment: nil)
        delivery.stamp = tokenStamp
        return [delivery]
    }

    /// - Returns: `nil` if nobody has registered the token.
    private mutating func deliveries(to token: DeviceToken) throws(Failure) -> [Delivery]? {
        var deliveries: [Delivery] = []
        var isRegistered = false
        // The index may name users who no longer have the token.
        for user in try state.tokens[token].read()?.users ?? [] {
            if namedUsers.contains(user), isNumbered(token) {
                isRegistered = true
                continue
            }
            let file = state.users[user]
            let stamp = file.stamp
            do throws(Failure) {
                guard let document = try file.read(),
                    let device = document.devices.first(where: { $0.token == token })
                else { continue }
                isRegistered = true
                skip(message.skipped(of: document, only: device.token))
                deliveries += message.deliveries(to: user, document, stamp: stamp, only: device)
            } catch {
                isRegistered = true  // it may be
                missed.add(user, error)
            }
        }
        return isRegistered ? deliveries : nil
    }

    private func isNumbered(_ token: DeviceToken) -> Bool {
        PushService.all.contains { numbers[digestPrefix(of: token, $0)] != nil }
    }
}

private func distinct<Element: Hashable>(_ elements: [Element]) -> [Element] {
    guard elements.count > 1 else { return elements }
    var seen: Set<Element> = []
    return elements.filter { seen.insert($0).inserted }
}

/// The same text may be a token of two services; these are two devices.
private func digestPrefix(of token: DeviceToken, _ service: PushService) -> UInt64 {
    let digest = SHA256.hash(Array(token.text.utf8)).prefix(8).reduce(0) { $0 << 8 | UInt64($1) }
    let mark: UInt64 =
        switch service {
        case .apns: 0
        case .fcm: 1
        case .web: 2
        }
    return digest ^ mark
}
