/// The system's accounts, read from `/etc/passwd` and `/etc/group`. A static program cannot ask glibc, whose
/// name service switch needs shared libraries.
package enum Accounts {
    /// The account's name and first group; `nil` if the file does not list it. See passwd(5).
    @export(interface)
    package static func account(of user: UInt32) -> (name: String, group: UInt32)? {
        for fields in lines(of: "/etc/passwd") where fields.count > 3 && fields[2] == "\(user)" {
            if let group = UInt32(fields[3]) { return (fields[0], group) }
        }
        return nil
    }

    /// The account's name, or `uid` and its number if it has none.
    static func name(of user: UInt32) -> String { account(of: user)?.name ?? "uid \(user)" }

    /// The account as a command such as chown takes it: its name, or its number if it has none.
    static func argument(for user: UInt32) -> String { account(of: user)?.name ?? "\(user)" }

    /// The groups that list the account as a member. See group(5).
    @export(interface)
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
