import Documents
import Edge
import Messages
import Queueing
import Spool
import Store
import Turnstone

/// Erases a user everywhere, as a request asks, also one who has got an `external_id` since and is named by the
/// id before that. `deliver`, which is asked to end first, is started again.
///
/// - Parameter isWhole: whether the user's document and aliases stay while anything cannot be read, because
///   the answer has no place for what is left, and the repeated request has to find the user.
/// - Returns: what was erased; `nil` if nothing was known and everything could be read.
/// - Throws: later, if something is busy. A repeated request erases what is left.
@export(interface)
package func eraseUser(
    _ user: UserID, in state: State, as request: Request, isWhole: Bool = false
) throws(Failure) -> JSONValue? {
    let erased = try eraseOneUser(user, in: state, as: request, isWhole: isWhole)
    // Looked up afterwards: another request may have changed the id meanwhile.
    guard user.mayHaveChanged, let present = try state.successor(of: user) else {
        return erased.map { .object($0) }
    }
    let more = try eraseOneUser(present, in: state, as: request, isWhole: isWhole)
    return sum(erased, more).map { .object($0) }
}

/// What was erased for two ids.
private func sum(_ first: JSONObject?, _ second: JSONObject?) -> JSONObject? {
    guard let first, let second else { return first ?? second }
    func unreadable(_ members: JSONObject) -> Int64 { members["unreadable"]?.integer ?? 0 }
    var sum = first.sum(with: second)
    // The same files are read for each id.
    let most = max(unreadable(first), unreadable(second))
    sum["unreadable"] = most > 0 ? .integer(most) : nil
    return sum
}

private func eraseOneUser(
    _ user: UserID, in state: State, as request: Request, isWhole: Bool
) throws(Failure) -> JSONObject? {
    let spools = state.spools
    // The running drainers were asked to end, so they are started again whatever the result is, also for what
    // they had put off.
    func resume() throws(Failure) {
        if try spools.hasReadyOrPutOff() {
            state.startDrainer(for: request)
        }
    }
    let result = Result { () throws(Failure) in
        try state.erasing(user) { () throws(Failure) in
            var erased: JSONObject?
            let former = try state.formerID(of: user)
            for id in [former.id, user] {
                guard let id else { continue }
                // With `isWhole`, the user's document, which names the former id, goes once nothing is left of
                // that.
                let more = try erase(
                    id, state, spools, at: request.time, Log(), isWhole: isWhole && id == user,
                    besides: Int(erased?["unreadable"]?.integer ?? 0),
                    isFormerKnown: former.isKnown, resume: resume)
                erased = sum(erased, more?.object)
            }
            return erased
        }
    }
    if case .failure = result { try resume() }
    return try result.get()
}

/// Erases a user everywhere. Each step may be repeated. The user's document goes last but for the aliases, so
/// that the next attempt finds what a killed program left.
///
/// - Parameters:
///   - others: how many files could not be read for a former id of the user.
///   - isFormerKnown: `false` if the document that names a former id could not be read.
///   - resume: called when delivery may go on.
/// - Returns: what was erased; `nil` if nothing was known and everything could be read.
private func erase(
    _ user: UserID, _ state: State, _ spools: Spools, at now: Timestamp, _ log: Log, isWhole: Bool,
    besides others: Int, isFormerKnown: Bool, resume: () throws(Failure) -> Void
) throws(Failure) -> JSONValue? {
    let looks = try state.eraseLooks(naming: user) { log.failure($0) }
    let (devices, elections) = try cancelDeliveries(
        to: user, looks.players, state, spools, at: now, log)
    try resume()
    let sent = try elections.eraseClosedReceipts(of: user) { log.failure($0) }
    var erased = try state.eraseTraces(of: user, devices, at: now) { log.failure($0) }
    erased.devices = devices?.count ?? 0
    erased.files += looks.players.count + sent.damaged
    guard !sent.isUnfinished else {
        throw Failure(
            .later(seconds: 60),
            "unable to erase everything: a notification that names the user is just being accepted; repeat the request in 60 s",
            cause: FailureCause.busy)
    }
    var unreadable = erased.unreadable + sent.unreadable + looks.unreadable
    if isWhole, max(unreadable, others) > 0 { throw unfinished }
    // The next attempt finds a former id in the document.
    guard isFormerKnown || devices == nil else { throw unread }
    erased.files += try state.eraseDocument(of: user)
    // One that was unreadable for a moment looks like that of a user who has come back since.
    if devices == nil, try state.users[user].read() != nil { throw unread }
    let aliases = try state.eraseAliases(of: user) { log.failure($0) }
    erased.files += aliases.files
    unreadable += aliases.unreadable
    if isWhole, unreadable > 0 { throw unfinished }
    guard !erased.isNothing || sent.pushes + sent.receipts + unreadable > 0 else { return nil }
    var members: JSONObject = [
        "devices": .integer(Int64(erased.devices)), "apiKeys": .integer(Int64(erased.keys)),
        "pushes": .integer(Int64(sent.pushes)), "receipts": .integer(Int64(sent.receipts)),
        "files": .integer(Int64(erased.files)),
    ]
    members["unreadable"] = unreadable > 0 ? .integer(Int64(unreadable)) : nil
    return .object(members)
}

private let unread = Failure(
    .later(seconds: 5),
    "unable to erase everything: the user's document could not be read for a moment; repeat the request",
    cause: FailureCause.unreadable)

private let unfinished = Failure(
    .later(seconds: 60),
    "unable to erase everything: some files cannot be read; the log names them. Repeat the request once they can",
    cause: FailureCause.unreadable)

/// Takes the user's devices and cancels what waits for them while no drainer runs. A later drainer finds
/// nothing of the user.
///
/// - Returns: the devices, `nil` if the user's document cannot be read; also what is left to do after the
///   elections, which have ended.
private func cancelDeliveries(
    to user: UserID, _ opponents: [UserID], _ state: State, _ spools: Spools, at now: Timestamp,
    _ log: Log
) throws(Failure) -> (devices: [Device]?, Elections) {
    let elections = try spools.electionsStoppingDrainers()
    defer { elections.end() }
    // Before anything is taken, so that a failure leaves all to the next attempt. A damaged line may be another
    // user's of the same phone.
    let unshared = try state.unsharedTokens(of: user)
    let devices = try state.takeDevices(of: user)
    var isKnown = true
    // An unreadable document counts as known.
    do throws(Failure) { isKnown = try state.users[user].read() != nil } catch {}
    if isKnown { try spools.countErasure() }
    try spools.stopNewDrainers(into: elections)
    let takeBack: TakeBackBadges = { (id, change, users, areAll) throws(Failure) in
        try Outbox(state, now: now).takeBackBadges(change, by: id, among: users, areAll: areAll)
    }
    let tokens = (devices ?? []).map { $0.token }.filter(unshared.contains)
    try elections.erase(
        user, tokens: tokens, opponents: opponents, at: now, takeBack: takeBack
    ) {
        log.failure($0)
    }
    return (devices, elections)
}

extension State {
    /// The user's tokens that no other user may have.
    fileprivate func unsharedTokens(of user: UserID) throws(Failure) -> Set<DeviceToken> {
        var devices: [Device] = []
        // An unreadable document names none to take either.
        do throws(Failure) { devices = try users[user].read()?.devices ?? [] } catch {
            guard error.isDocumentSpecific else { throw error }
        }
        var unshared: Set<DeviceToken> = []
        for device in devices where try !registry.mayBeShared(device.token, by: user) {
            unshared.insert(device.token)
        }
        return unshared
    }

    /// The id that the user had before an `external_id` made it another one. Receipts, waiting messages and
    /// the audience index may still name it. It stays as an alias, so a killed erasure finds it again.
    ///
    /// - Returns: not known if the document cannot be read, perhaps only now.
    fileprivate func formerID(of user: UserID) throws(Failure) -> (id: UserID?, isKnown: Bool) {
        do throws(Failure) {
            return (try users[user].read()?.formerID(of: user), true)
        } catch {
            // The erasure reports the document.
            guard error.isDocumentSpecific else { throw error }
            return (nil, error.cause == FailureCause.corrupt || error.cause == FailureCause.stale)
        }
    }
}
