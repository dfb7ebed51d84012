import Foundation
import TestSupport
import Testing

/// The state folder on a file system that takes nothing, or little: in a mount namespace of the trial's own.
@Suite(
    .enabled(
        if: Disk.isPossible, "these tests mount file systems, which needs the superuser's rights"))
struct SmallDiskTests {
    @Test("a state folder that can only be read loses nothing")
    func readOnly() throws {
        let row = Row("a read-only file system, `check-turns` and `deliver`")
        for program in ["check-turns", "deliver"] {
            let ground = try Ground(
                players: 3, devices: 2, program == "deliver" ? .queued : .registered)
            for _ in 0..<Length.times(20, few: 2) {
                let trial = try ground.trial()
                try trial.run(program, on: .readOnly)
                row.count(try trial.verdict(), "\(program), read-only", losesAnswers: false)
            }
        }
        try row.report()
    }

    @Test("a disk with a few free pages loses nothing")
    func fullDisk() throws {
        let row = Row("a full disk, `check-turns` and `deliver`, with 0 to 40 free pages")
        for program in ["check-turns", "deliver"] {
            let ground = try Ground(
                players: 3, devices: 2, program == "deliver" ? .queued : .registered)
            for pages in Length.sample(Array(0...40), few: 5) {
                let trial = try ground.trial()
                try trial.run(program, on: .full(but: pages))
                row.count(
                    try trial.verdict(), "\(program), \(pages) free pages")
            }
        }
        try row.report()
    }
}

/// A file system that a program finds its state folder on.
enum Disk {
    case readOnly
    /// With room for so many pages of 4 KiB.
    case full(but: Int)

    static let isPossible =
        (try? Programs.start(
            at: "/usr/bin/unshare", ["--mount", "mount", "-t", "tmpfs", "tmpfs", "/mnt"],
            entries: []
        ).end().exitCode) == 0

    /// `$1` is the state folder, `$2` a copy of it, and the rest a program.
    fileprivate var script: String {
        switch self {
        case .readOnly:
            return """
                set -e
                mount --bind "$1" "$1"
                mount -o remount,ro,bind "$1"
                shift 2
                exec "$@"
                """
        case .full(let pages):
            return """
                set -e
                state=$1 copy=$2
                shift 2
                mount -t tmpfs -o size=2m tmpfs "$state"
                cp -a "$copy/." "$state"
                dd if=/dev/zero of="$state/filler" bs=4096 2>/dev/null || true
                truncate -s -$((\(pages) * 4096)) "$state/filler"
                "$@" || true
                rm "$state/filler"
                rm -rf "$copy"
                cp -a "$state" "$copy"
                """
        }
    }
}

extension Trial {
    /// Runs a program on a disk that hinders it, whatever comes of it.
    fileprivate func run(_ program: String, on disk: Disk) throws {
        let copy = TemporaryFolder()
        try replaceFiles(of: copy, by: state)
        let entries =
            environment.map { "\($0.key)=\($0.value)" } + ["PATH=/usr/sbin:/usr/bin:/sbin:/bin"]
        let arguments = [
            "--mount", "sh", "-c", disk.script, "sh", state.path, copy.path,
            Programs.path(program),
        ]
        let ended = try Programs.start(at: "/usr/bin/unshare", arguments, entries: entries).end()
        guard case .full = disk else { return }
        guard ended.exitCode == 0 else { throw TestFailure("no small disk: \(ended.stderr)") }
        try replaceFiles(of: state, by: copy)
    }

    private func replaceFiles(of folder: TemporaryFolder, by other: TemporaryFolder) throws {
        let manager = FileManager.default
        for name in try manager.contentsOfDirectory(atPath: folder.path) {
            try manager.removeItem(atPath: "\(folder.path)/\(name)")
        }
        for name in try manager.contentsOfDirectory(atPath: other.path) {
            try manager.copyItem(
                atPath: "\(other.path)/\(name)", toPath: "\(folder.path)/\(name)")
        }
    }
}
