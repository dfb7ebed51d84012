import CUnix

extension ThisProcess {
    /// The account that this process acts as. C: `geteuid(2)`.
    static var user: UInt32 { geteuid() }

    /// The account as a command such as chown takes it.
    package static var account: String { Accounts.argument(for: user) }

    /// What gives this account access to all of a state folder. Where that is another account's, the
    /// program may only have been run under the wrong one.
    ///
    /// - Parameter more: a further command.
    @export(interface)
    package static func remedy(inState folder: String, _ more: String = "") -> String {
        var owner: UInt32?
        do throws(SystemError) { owner = try Files.owner(of: folder)?.user } catch {}
        let command = "chown -R \(account): \(folder)\(more.isEmpty ? "" : " && \(more)")"
        guard let owner, owner != user, owner != 0 else { return "Run: \(command)" }
        let name = Accounts.name(of: owner)
        return
            "Run this program as \(name), whose folder it is; or, if Turnstone runs as \(account): \(command)"
    }

    package static var isRoot: Bool { user == 0 }

    /// Changes to another account and its groups, giving up root's rights for good. C: `setgroups(2)`,
    /// `setgid(2)`, `setuid(2)`.
    @export(interface)
    package static func become(
        user: UInt32, group: UInt32, groups: [UInt32]
    ) throws(SystemError) {
        guard setgroups(groups.count, groups) == 0 else {
            throw SystemError("setgroups", "\(user)")
        }
        guard setgid(group) == 0 else { throw SystemError("setgid", "\(group)") }
        guard setuid(user) == 0 else { throw SystemError("setuid", "\(user)") }
    }
}
