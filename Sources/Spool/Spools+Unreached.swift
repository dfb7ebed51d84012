import Turnstone

extension Spools {
    /// The users who were to get a message and can no longer get it: no device has accepted it, none may have
    /// without an answer, and none waits for it. The receipts and the files of all queues tell, so that of
    /// several drainers that end their parts at the same moment at least one finds all of it. If receipts are
    /// there that cannot be read, any user may have got it.
    ///
    /// - Parameters:
    ///   - start: the result of ``receiptsStart(notBefore:at:)``.
    ///   - users: users of whom to tell.
    ///   - mayHaveTried: whether a drainer may have prepared a push to a user, and have been killed before it wrote
    ///     that. The receipts say of which other users to tell. `nil` if there are no others.
    @export(interface)
    package func usersUnreached(
        by id: String, from start: ReceiptsStart, among users: Set<UserID>,
        besides mayHaveTried: ((UserID) -> Bool)?
    ) throws(Failure) -> Set<UserID> {
        _ = try completeJoint(id)
        let spools = try all()
        var reach: [UserID: UserReach] = [:]
        for user in users { reach[user] = UserReach() }
        if let mayHaveTried {
            for user in try usersTried(by: id, from: start, mayHaveTried) {
                reach[user] = UserReach()
            }
        }
        // Only a few users fail, and a message may have a million: those who got it are only looked up.
        guard !reach.isEmpty else { return [] }
        for spool in spools {
            // The file first: what leaves it meanwhile has its receipts.
            var open = try spool.openDeliveries(of: id, to: reach)
            let isWhole = try ReceiptLog(of: spool).forEachLine(
                of: id, from: start[spool.queue]
            ) { (line) in
                if line["in"] == nil, line["outcome"] != nil, let number = line["n"]?.integer {
                    open[number] = nil
                }
                if let user = line.user { reach[user]?.add(line) }
                return false
            }
            guard isWhole else { return [] }
            for users in open.values { for user in users { reach[user]?.isReached = true } }
        }
        return Set(reach.filter { !$0.value.isPossible }.map { $0.key })
    }

    /// The device for which a message is held in a box; `nil` if the receipts do not say.
    ///
    /// - Parameters:
    ///   - box: the name of the box; any other text is none.
    ///   - start: the result of ``receiptsStart(notBefore:at:)``.
    package func device(
        of id: String, heldIn box: String, from start: ReceiptsStart
    ) throws(Failure) -> UserDevice? {
        guard HeldBox(folder: box) != nil else { return nil }
        var found: UserDevice?
        for spool in try all() where found == nil {
            try ReceiptLog(of: spool).forEachLine(of: id, from: start[spool.queue]) { (line) in
                guard line["outcome"]?.string == Outcome.held.rawValue, let user = line.user,
                    let device = line["device_id"]?.string, HeldBox(of: user, device).name == box
                else { return false }
                found = UserDevice(user, device)
                return true
            }
        }
        return found
    }

    /// The users to whose devices a message was sent, or was about to be, without being accepted.
    private func usersTried(
        by id: String, from start: ReceiptsStart,
        _ mayHaveTried: (UserID) -> Bool
    ) throws(Failure) -> Set<UserID> {
        var users: Set<UserID> = []
        var asked: Set<UserID> = []
        for spool in try all() {
            let start = start[spool.queue]
            // Only a drainer that was killed leaves no line about what it was about to send.
            let wasKilled = try spool.sign().map { $0.term > start.volume.term } ?? true
            // A line about a push that was not sent after all does not name the user. A later one does.
            var notSent: Set<Int64> = []
            try ReceiptLog(of: spool).forEachLine(of: id, from: start) { (line) in
                let number = line["n"]?.integer
                if line["not_sent"] != nil, let number { notSent.insert(number) }
                guard line["outcome"]?.string != Outcome.accepted.rawValue, let user = line.user,
                    !users.contains(user)
                else { return false }
                if line["apns_id"] != nil || line["in"] != nil
                    || number.map({ notSent.contains($0) }) ?? false
                {
                    users.insert(user)
                } else if wasKilled, let outcome = line["outcome"]?.string,
                    outcome != Outcome.held.rawValue, asked.insert(user).inserted,
                    mayHaveTried(user)
                {
                    users.insert(user)
                }
                return false
            }
        }
        return users
    }
}

/// Whether a user's devices have got a message.
private struct UserReach {
    /// Whether a device got it, may have got it, or waits for it.
    var isReached = false
    /// The devices for which it was held, and those for which a release has ended it.
    private var held: Set<String> = []
    private var released: Set<String> = []

    var isPossible: Bool { isReached || held.count > released.count }

    mutating func add(_ line: JSONObject) {
        if Receipt.leavesDoubt(line) { isReached = true }
        guard let outcome = line["outcome"]?.string.flatMap(Outcome.init) else { return }
        if outcome == .accepted { isReached = true }
        let device = line["device_id"]?.string ?? ""
        if outcome == .held {
            held.insert(device)
        } else if line["in"] != nil {
            released.insert(device)
        }
    }
}

extension JSONObject {
    fileprivate var user: UserID? { self["user"]?.string.flatMap { UserID($0) } }
}

extension Spool {
    /// By number, the users of a notification's deliveries in its file, as far as they are in question. The
    /// receipts tell which of them have ended.
    fileprivate func openDeliveries(
        of id: String, to users: [UserID: UserReach]
    ) throws(Failure) -> [Int64: [UserID]] {
        var open: [Int64: [UserID]] = [:]
        do throws(Failure) {
            guard let file = try openFile(of: id) else { return [:] }
            while let delivery = try file.nextOfAll() {
                guard let user = file.user(of: delivery), users[user] != nil else { continue }
                open[Int64(delivery.number), default: []].append(user)
            }
        } catch {
            // A drainer will set it aside.
            guard Damage.explains(error) else { throw error }
        }
        return open
    }

    /// Looks twice, because it may be put off meanwhile, even between being found and being opened.
    private func openFile(of id: String) throws(Failure) -> SpoolFile? {
        for _ in 0..<2 {
            if let path = try path(of: id), let file = try SpoolFile.open(path) { return file }
        }
        return nil
    }
}
