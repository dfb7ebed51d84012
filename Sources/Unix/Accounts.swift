import CUnix

/// The system's accounts, as `/etc/passwd` and `/etc/group` have them. A static program cannot ask glibc, whose answers
/// come from shared libraries.
package enum Accounts {
    /// The account's name and first group; `nil` where the file does not have it. See passwd(5).
    package static func account(of user: UInt32) -> (name: String, group: UInt32)? {
        for fields in lines(of: "/etc/passwd") where fields.count > 3 && fields[2] == "\(user)" {
            if let group = UInt32(fields[3]) { return (fields[0], group) }
        }
        return nil
    }

    /// The groups that name the account as a member. See group(5).
    package static func groups(naming account: String) -> [UInt32] {
        lines(of: "/etc/group").compactMap { (fields) in
            guard fields.count > 3 else { return nil }
            let members = fields[3].utf8.split(separator: UInt8(ascii: ","))
            return members.contains { $0.elementsEqual(account.utf8) } ? UInt32(fields[2]) : nil
        }
    }

    private static func lines(of path: String) -> [[String]] {
        var bytes: [UInt8] = []
        do throws(SystemError) { bytes = try Files.contents(path) ?? [] } catch {}
        return bytes.split(separator: UInt8(ascii: "\n")).map { line in
            line.split(separator: UInt8(ascii: ":"), omittingEmptySubsequences: false)
                .map { String(decoding: $0, as: UTF8.self) }
        }
    }
}

extension ThisProcess {
    /// C: `geteuid(2)`.
    package static var isRoot: Bool { geteuid() == 0 }

    /// Gives up root's rights for another account's, with its groups, and for good. C: `setgroups(2)`, `setgid(2)`,
    /// `setuid(2)`.
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
