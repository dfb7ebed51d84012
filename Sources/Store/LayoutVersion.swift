import JSON
import Turnstone

/// What `version.json` says.
struct LayoutVersion: Equatable {
    /// The version of the folder's layout.
    var version: Int64
    /// What is left of the lock files of version 2; `nil` if nothing is.
    var ownLocks: OwnLockPhase?

    /// The phases in which `NAME.json.lock` of version 2 still matters.
    enum OwnLockPhase: Equatable {
        /// Programs of version 2 may be running.
        case held
        /// None is, but its files are there.
        case left
    }

    init(version: Int64, ownLocks: OwnLockPhase? = nil) {
        self.version = version
        self.ownLocks = ownLocks
    }

    /// - Returns: `nil` if it is not a JSON object with a version.
    init?(_ bytes: [UInt8]) {
        var members: JSONObject?
        do throws(JSONError) { members = try JSON.parse(bytes).object } catch {}
        guard let version = members?["version"]?.integer else { return nil }
        self.version = version
        ownLocks = members?["own_locks"].map { $0.string == "left" ? .left : .held }
    }

    var text: [UInt8] {
        var members: JSONObject = ["version": .integer(version)]
        if let ownLocks { members.append("own_locks", ownLocks == .left ? "left" : "held") }
        return JSON.text(.object(members))
    }
}
