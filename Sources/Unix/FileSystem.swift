import CUnix
import Turnstone

/// The file system that holds a path.
package struct FileSystem: Equatable, Sendable {
    /// The system's number for its kind, `f_type`.
    package let kind: Int64

    /// C: `statfs(2)`.
    package init(at path: String) throws(SystemError) {
        var status = statfs()
        guard retried({ statfs(path, &status) }) == 0 else { throw SystemError("statfs", path) }
        self.init(status)
    }

    /// That of an open file. C: `fstatfs(2)`.
    init(of number: Int32, _ path: String) throws(SystemError) {
        var status = statfs()
        guard retried({ fstatfs(number, &status) }) == 0 else { throw SystemError("statfs", path) }
        self.init(status)
    }

    private init(_ status: statfs) {
        // The numbers have 32 bits. Some systems extend the sign.
        kind = Int64(UInt32(truncatingIfNeeded: status.f_type))
    }

    /// How many milliseconds its clock is ahead of this machine's, from dating a file of ours anew; `nil` if
    /// the file cannot be dated. A file system whose clients date files shows no difference. C:
    /// `utimensat(2)`.
    @export(interface)
    package static func clockDistance(at path: String) -> Int64? {
        let before = Timestamp.systemNow.milliseconds
        var status = stat()
        guard retried({ utimensat(AT_FDCWD, path, nil, 0) }) == 0,
            retried({ stat(path, &status) }) == 0
        else { return nil }
        let after = Timestamp.systemNow.milliseconds
        let time = status.st_mtim
        // A file system may state any moment.
        let changed = Int64(time.tv_sec).saturatingMultiply(1000)
            .saturatingAdd(Int64(time.tv_nsec) / 1_000_000)
        return changed < before
            ? changed.saturatingSubtract(before) : max(0, changed.saturatingSubtract(after))
    }

    /// Whether its files belong to this machine alone, so that the kernel keeps the promises of `flock` and
    /// `rename` by itself.
    package var isLocal: Bool { Self.local.contains(kind) }

    /// From linux/magic.h, and from GNU coreutils' stat.c where it does not list them.
    private static let local: [Int64] = [
        0xEF53,  // ext2, ext3, ext4
        0x5846_5342,  // xfs
        0x9123_683E,  // btrfs
        0x0102_1994,  // tmpfs
        0x8584_58F6,  // ramfs
        0x794C_7630,  // overlayfs, of most containers
        0x6175_6673,  // aufs, of older ones
        0x2FC1_2FC1,  // zfs
        0xF2F5_2010,  // f2fs
        0xCA45_1A4E,  // bcachefs
        0x3153_464A,  // jfs
        0x5265_4973,  // reiserfs
        0x3434,  // nilfs2
        0x2405_1905,  // ubifs
        0xF15F,  // ecryptfs
        0x5346_4846,  // wslfs, of WSL 1
        0x7366_746E,  // ntfs3
        0x2011_BAB0,  // exfat
        0x4D44,  // vfat
        0x482B,  // hfsplus
        0x72B6,  // jffs2
        0x6A65_6A62,  // shiftfs
        0x1501_3346,  // udf
        0x5234_5362,  // reiser4
        0x5346_544E,  // ntfs
    ]
}

/// A mounted file system as the system's table describes it.
package struct Mount: Equatable, Sendable {
    /// The kind's name, such as `fuse.juicefs` or `nfs4`.
    package let kind: String
    /// Its mount options, sorted, without those that differ between machines with the same mount.
    package let options: [String]

    package init(kind: String, options: [String]) {
        self.kind = kind
        self.options = options
    }

    /// Whether its files belong to this machine alone, although `statfs(2)` only says that it is a FUSE:
    /// `fuse-overlayfs`, of containers without root's rights, and disks with a driver outside of the kernel,
    /// such as `ntfs-3g`.
    package var isLocal: Bool { kind == "fuse.fuse-overlayfs" || kind == "fuseblk" }

    /// The mount that holds a path. If the table does not show it, as in a changed root folder, the kind is
    /// the number of the file system. C: `stat(2)`, `proc(5)` (`/proc/self/mountinfo`).
    @export(interface)
    package init(at path: String) throws(SystemError) {
        let system = try FileSystem(at: path)
        let number = try Self.device(of: path)
        let table = try Files.contents("/proc/self/mountinfo") ?? []
        for line in table.split(separator: UInt8(ascii: "\n")) {
            guard let mount = Mount(line: line, ofDevice: number) else { continue }
            self = mount
            return
        }
        kind = "0x" + String(system.kind, radix: 16)
        options = []
    }

    /// `36 35 98:0 /folder /mount/point rw,noatime master:1 - ext3 /dev/root rw,errors=continue`
    private init?(line: ArraySlice<UInt8>, ofDevice number: String) {
        let words = line.split(separator: UInt8(ascii: " "))
        guard words.count > 3, words[2].elementsEqual(number.utf8),
            let dash = words.firstIndex(where: { $0.elementsEqual("-".utf8) }),
            words.count > dash + 3
        else { return nil }
        kind = String(decoding: Array(words[dash + 1]), as: UTF8.self)
        options = words[dash + 3].split(separator: UInt8(ascii: ","))
            .map { String(decoding: Array($0), as: UTF8.self) }
            // NFS: the machine's own address, and the one by which it reaches the server.
            .filter { !$0.utf8.starts(with: "clientaddr=".utf8) }
            .filter { !$0.utf8.starts(with: "addr=".utf8) }
            .sorted()
    }

    /// The number of the mounted device that holds a file, as `major:minor`. C: `stat(2)`.
    package static func device(of path: String) throws(SystemError) -> String {
        var status = stat()
        guard retried({ stat(path, &status) }) == 0 else { throw SystemError("find", path) }
        let device = UInt64(status.st_dev)
        // makedev(3)
        let major = device >> 8 & 0xFFF | device >> 32 & ~0xFFF
        let minor = device & 0xFF | device >> 12 & ~0xFF
        return "\(major):\(minor)"
    }
}
