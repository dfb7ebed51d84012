import Crypto
import Spool
import Store
import Turnstone

/// The deliveries of a message, looked up one after the other, each device once: a hundred thousand of them are
/// never in memory together.
struct Recipients {
    private let state: State
    private let passage: Passage
    private var users: ArraySlice<UserID>
    private var tokens: ArraySlice<DeviceToken>
    /// Of the last user that was looked up.
    private var found: ArraySlice<Delivery> = []
    /// The beginnings of the tokens' SHA-256s: eight bytes tell any number of devices apart that there are.
    private var seen: Set<UInt64> = []
    /// Whose they all are, and need not be said of each.
    private let onlyUser: UserID?
    /// How many devices of the users nothing can reach.
    private(set) var skipped = 0

    init(_ audience: Audience, _ passage: Passage, state: State) {
        self.state = state
        self.passage = passage
        users = audience.users[...]
        tokens = audience.tokens[...]
        onlyUser = audience.onlyUser
    }

    mutating func next() throws(Failure) -> Delivery? {
        while true {
            if var delivery = found.popFirst() {
                guard let token = delivery.token, seen.insert(beginning(of: token)).inserted
                else { continue }
                if onlyUser != nil { delivery.user = nil }
                return delivery
            }
            if let user = users.popFirst() {
                let name = DocumentName(user)
                let stamp = state.users.stamp(of: name)
                guard let document = try state.users.read(name) else { continue }
                skip(passage.skipped(of: document))
                found = passage.deliveries(to: user, document, stamp: stamp)[...]
            } else if let token = tokens.popFirst() {
                found = try deliveries(to: token)[...]
            } else {
                return nil
            }
        }
    }

    private mutating func skip(_ devices: [Device]) {
        skipped += devices.count { seen.insert(beginning(of: $0.token)).inserted }
    }

    /// A device that is not registered is sent to as it is.
    private mutating func deliveries(to token: DeviceToken) throws(Failure) -> [Delivery] {
        let holders = try state.registry.users(of: token)
        for user in holders {
            let name = DocumentName(user)
            let stamp = state.users.stamp(of: name)
            guard let document = try state.users.read(name),
                let device = document.devices.first(where: { $0.token == token })
            else { continue }
            skip(passage.skipped(of: document, only: device.token))
            return passage.deliveries(to: user, document, stamp: stamp, only: device)
        }
        return holders.isEmpty ? [Delivery(token: token, environment: nil)] : []
    }
}

private func beginning(of token: DeviceToken) -> UInt64 {
    SHA256.hash(Array(token.text.utf8)).prefix(8).reduce(0) { $0 << 8 | UInt64($1) }
}
