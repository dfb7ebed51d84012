import JSON
import Turnstone

/// What `version.json` says.
struct LayoutVersion: Equatable {
    /// The version of the folder's layout.
    var version: Int64
    /// Until when programs of version 2 may run; `nil` if none of the locks that they made are left.
    var ownLocksUntil: Timestamp?

    init(version: Int64, ownLocksUntil: Timestamp? = nil) {
        self.version = version
        self.ownLocksUntil = ownLocksUntil
    }

    /// - Returns: `nil` if it is not a JSON object with a version.
    init?(_ bytes: [UInt8]) {
        var members: JSONObject?
        do throws(JSONError) { members = try JSON.parse(bytes).object } catch {}
        guard let version = members?["version"]?.integer else { return nil }
        self.version = version
        ownLocksUntil = members?["own_locks_until"]?.timestamp
    }

    var text: [UInt8] {
        var members: JSONObject = ["version": .integer(version)]
        if let ownLocksUntil { members.append("own_locks_until", JSONValue(ownLocksUntil)) }
        return JSON.text(.object(members))
    }
}
