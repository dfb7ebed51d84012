import Turnstone
import Unix

/// The remedy for a file or folder of the state folder that cannot be used.
enum Remedy {
    /// Another account's, or its mode gives no access.
    case access
    /// A newer program wrote it.
    case upgrade
    /// It was committed and is gone.
    case replace
    /// It does not parse, and could not be set aside.
    case restore
    /// Receipts that could not be read were set aside.
    case bringBack
    /// The disk does not read it.
    case checkDisk
    /// A process has held the lock for seconds.
    case endHolder
    /// Something else is in its place, such as a folder or a link.
    case clear

    static var all: [Remedy] {
        [.access, .upgrade, .replace, .restore, .bringBack, .checkDisk, .endHolder, .clear]
    }

    /// - Parameter cause: a failure's cause, as programs record it for `health`.
    init(cause: String) {
        self =
            switch cause {
            case Errno.noAccess.name, Errno.notPermitted.name: .access
            case FailureCause.newer: .upgrade
            case "missing", FailureCause.stale: .replace
            case FailureCause.corrupt: .restore
            case FailureCause.setAside: .bringBack
            case Errno.inputOutput.name, FailureCause.faulty: .checkDisk
            case FailureCause.busy: .endHolder
            default: .clear
            }
    }

    func action(in folder: String) -> String {
        switch self {
        case .access:
            ThisProcess.remedy(inState: folder, "chmod -R u+rwX \(folder)")
        case .upgrade: "Install a newer Turnstone: a newer one wrote this."
        case .replace:
            """
            Restore each from a backup or go on without it. In both cases leave an empty lock file, as the \
            programs' account: truncate -s 0 NAME.json.lock
            """
        case .restore: "Restore each from a backup, or remove it to go on without it."
        case .bringBack:
            """
            Their receipts are missing in reports, histories and counts. Make each readable, or get it from a backup, and give it its name \
            without .unreadable-…; or remove it to go on without it.
            """
        case .checkDisk: "Check the disk. Then restore each from a backup."
        case .endHolder:
            """
            A process holds each of these locks and does not let go. What shares the lock cannot be changed \
            meanwhile: one in 4,096 users (or tokens, keys and so on, by the folder's name), of audience/ one in 256. Find the process \
            (fuser -v FILE, or lslocks) and, if it hangs, end it: kill -9 PROCESS. Nothing is lost.
            """
        case .clear:
            """
            Remove what is in its place or restore it from a backup. If it belongs to another \
            account than the state folder: chown -R --reference=\(folder) \(folder)
            """
        }
    }
}
