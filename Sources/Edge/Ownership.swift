import Turnstone
import Unix

/// Switches to the account that owns the state folder if root has started this process: other programs could
/// not read files that root writes. A folder that does not exist yet will be root's.
///
/// - Throws: a failure if root's rights cannot be given up, before anything is written.
func becomeOwner(ofStateIn variables: Variables, _ log: Log) throws(Failure) {
    try becomeOwner(of: variables.stateFolder, log)
}

/// The same for a state folder that is given.
package func becomeOwner(of folder: String, _ log: Log) throws(Failure) {
    guard ThisProcess.isRoot else { return }
    let found = try systemCalls(Files.owner(of: folder))
    guard let owner = found, owner.user != 0 else { return }
    let account = Accounts.account(of: owner.user)
    let name = account?.name ?? "uid \(owner.user)"
    do throws(SystemError) {
        try ThisProcess.become(
            user: owner.user, group: account?.group ?? owner.group,
            groups: account.map { Accounts.groups(naming: $0.name) } ?? [])
    } catch {
        throw Failure(
            .broken,
            "unable to run as \(name), the owner of \(folder): \(error.call) failed: \(error.errno.reason)",
            cause: error.errno.name)
    }
    log.event("started by root: running as \(name), the owner of \(folder)")
}
