import Turnstone

/// Local times in the world's time zones, from the system's copy of the IANA time zone database (Debian:
/// tzdata).
///
/// `localtime_r(3)` takes the zone from the environment, which must not change while libcurl resolves a name
/// in its own thread; so the database is read directly. Only for programs that use this on one thread.
package enum WallClock {
    /// Whether the database has a time zone of this name, such as `Europe/Berlin`.
    ///
    /// - Throws: why the database cannot be read.
    @export(interface)
    package static func knows(_ zone: String) throws(SystemError) -> Bool {
        // The zones begin with a capital letter. Beside them the folder has copies that count leap seconds
        // (`right/`), and files that stand for the machine's own zone (`localtime`, `posixrules`) or for none
        // (`Factory`). A user who has one of them from earlier keeps the quiet hours.
        guard let first = zone.utf8.first, (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(first),
            zone != "Factory"
        else { return false }
        return try rules(of: zone) != nil
    }

    /// The minutes since midnight in a time zone; `nil` if the database does not have the zone or cannot be
    /// read.
    @export(interface)
    package static func minute(at moment: Timestamp, in zone: String) -> Int? {
        if let rules = known[zone] { return rules.minute(at: moment) }
        guard !unknown.contains(zone) else { return nil }
        do throws(SystemError) {
            known[zone] = try rules(of: zone)
            if known[zone] == nil { unknown.append(zone) }
        } catch {}  // the next call tries again
        return known[zone]?.minute(at: moment)
    }

    private static func rules(of zone: String) throws(SystemError) -> TimeZoneRules? {
        let isName = zone.utf8.allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"), UInt8(ascii: "+"),
                UInt8(ascii: "-"), UInt8(ascii: "/"):
                true
            default: false
            }
        }
        guard isName, !zone.isEmpty, zone.utf8.count <= 64, zone.utf8.first != UInt8(ascii: "/")
        else { return nil }
        do throws(SystemError) {
            let file = try FileDescriptor.open("/usr/share/zoneinfo/\(zone)", .read)
            return TimeZoneRules(try file.readToEnd(limit: 1 << 16))
        } catch {
            guard [.noEntry, .notDirectory, .isFolder].contains(error.errno) else { throw error }
            return nil
        }
    }

    /// The zones that were asked for and are not in the database: an upgrade of it may have removed them.
    nonisolated(unsafe) package private(set) static var unknown: [String] = []

    nonisolated(unsafe) private static var known: [String: TimeZoneRules] = [:]
}
