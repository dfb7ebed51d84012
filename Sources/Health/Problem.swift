import Store
import Turnstone
import Unix

/// A fault that keeps an installation from its work.
package struct Problem {
    package let members: JSONObject

    /// - Parameters:
    ///   - kind: the problem's name for programs.
    ///   - message: what is wrong, for a person.
    ///   - action: what to do about it.
    init(_ kind: String, _ message: String, action: String, _ more: JSONObject = [:]) {
        var members: JSONObject = [
            "problem": .string(kind), "message": .string(message), "action": .string(action),
        ]
        for member in more.members { members[member.name] = member.value }
        self.members = members
    }

    /// A fault of the state folder or of the configuration.
    ///
    /// - Parameter folder: the state folder.
    @export(interface)
    package init(stateFault failure: Failure, of folder: String) {
        guard failure.cause != State.untested else {
            self.init(
                "storage", failure.sentence,
                action:
                    "Follow the message, or move the state folder to a local disk. functions/storage-test/README.md tells how."
            )
            return
        }
        guard failure.disposition != .misconfigured else {
            self.init(configurationFault: failure)
            return
        }
        let action =
            switch failure.cause {
            case FailureCause.newer: "Install a newer Turnstone."
            case Errno.notDirectory.name: "Set TURNSTONE_STATE to a folder."
            case Errno.noAccess.name: Remedy.access.action(in: folder)
            case Errno.notConnected.name, Errno.aborted.name, Errno.stale.name:
                "Mount the state folder's file system again. If that changes nothing, restart the services."
            case FailureCause.corrupt: "Restore it from a backup."
            default:
                "Restore the state folder, or give it back to the account that runs Turnstone (chown, chmod)."
            }
        self.init("state folder", failure.sentence, action: action)
    }

    package init(configurationFault failure: Failure) {
        self.init("configuration", failure.sentence, action: "Correct the configuration.")
    }
}
