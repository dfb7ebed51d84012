import Spool
import Store
import Turnstone

/// Erases a user everywhere. Each step may be repeated; the user's document goes last, so that whoever is killed in
/// between leaves something that the next attempt finds.
///
/// - Returns: what was erased; `nil` where nothing was known.
func erase(
    _ user: UserID, _ state: State, _ spool: Spool, at now: Timestamp
) throws(Failure) -> JSONValue? {
    // No drainer runs until the document is gone: one would note outcomes in it.
    let election = try spool.electionAskingDrainer()
    defer { election.end() }
    let devices = try state.takeDevices(of: user)
    let sent = try spool.erase(user, elected: election, at: now)
    var erased = try state.eraseTraces(of: user, devices)
    erased.devices = devices.count
    erased.files += try state.eraseDocument(of: user) + sent.damaged
    guard !erased.isNothing || sent.pushes + sent.receipts > 0 else { return nil }
    return [
        "devices": .integer(Int64(erased.devices)), "apiKeys": .integer(Int64(erased.keys)),
        "pushes": .integer(Int64(sent.pushes)), "receipts": .integer(Int64(sent.receipts)),
        "files": .integer(Int64(erased.files)),
    ]
}
