import JSON
import Turnstone

/// How far the lock files of version 2 have been removed: `locks/migration.json`. If it is lost, the phase
/// that `version.json` names begins anew.
struct LockMigration {
    /// How long programs of version 2 have been waited for, as the runs of `check-turns` have counted it.
    private(set) var waited = Interval.seconds(0)
    /// When it was last counted.
    private var counted: Timestamp?
    /// The first of the parts that have not been swept.
    var next = 0
    /// Earlier parts in which a file could not be used, or was locked.
    var skipped: [Int] = []

    /// The longest time between two runs that counts. A clock that is set forward shortens the wait by no
    /// more.
    private static let longestStep = Interval.minutes(2)

    init() {}

    /// - Returns: the beginning of a phase, if it is not what ``text`` writes.
    init(_ bytes: [UInt8]) {
        var found: JSONObject?
        do throws(JSONError) { found = try JSON.parse(bytes).object } catch {}
        guard let members = found else { return }
        let next = members["next"]?.count ?? 0
        let skipped = (members["skipped"]?.array ?? []).map { $0.count ?? .max }
        let parts = Int64(State.lockParts)
        guard next <= parts, skipped.allSatisfy({ $0 < parts }) else { return }
        waited = .milliseconds(members["waited"]?.count ?? 0)
        counted = members["counted"]?.timestamp
        self.next = Int(next)
        self.skipped = skipped.map { Int($0) }
    }

    var text: [UInt8] {
        var members: JSONObject = ["waited": .integer(waited.milliseconds)]
        if let counted { members.append("counted", JSONValue(counted)) }
        members.append("next", .integer(Int64(next)))
        if !skipped.isEmpty {
            members.append("skipped", .array(skipped.map { .integer(Int64($0)) }))
        }
        return JSON.text(.object(members))
    }

    /// Counts the time since it was last counted.
    mutating func count(until now: Timestamp) {
        if let counted, now > counted { waited = waited + min(now - counted, Self.longestStep) }
        counted = now
    }
}
