import Turnstone

/// The clocks on the walls of the world, by the IANA's time zone database as the system has it (Debian: tzdata).
///
/// Not by `localtime_r(3)`, which takes the zone from the environment: while libcurl looks a name up in a thread of its
/// own, nobody may change that. Only for programs that do this on one thread.
package enum WallClock {
    /// Whether there is a time zone of this name, such as `Europe/Berlin`.
    ///
    /// - Throws: why the database cannot be read.
    package static func knows(_ zone: String) throws(SystemError) -> Bool {
        try rules(of: zone) != nil
    }

    /// How many minutes the clock shows since midnight; `nil` where the database does not know the zone, or cannot be
    /// read.
    package static func minute(at moment: Timestamp, in zone: String) -> Int? {
        if let rules = known[zone] { return rules.minute(at: moment) }
        guard !unknown.contains(zone) else { return nil }
        do throws(SystemError) {
            known[zone] = try rules(of: zone)
            if known[zone] == nil { unknown.append(zone) }
        } catch {}  // It is tried again the next time.
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

    /// The zones that were asked for and that the database does not know: an upgrade may have removed them.
    nonisolated(unsafe) package private(set) static var unknown: [String] = []

    nonisolated(unsafe) private static var known: [String: TimeZoneRules] = [:]
}
