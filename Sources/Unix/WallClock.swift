import CUnix
import Turnstone

/// The clocks on the walls of the world, by the IANA's time zone database as the system has it (Debian: tzdata).
///
/// The C library knows one zone at a time and takes it from the environment: only for programs with one thread.
package enum WallClock {
    /// Whether there is a time zone of this name, such as `Europe/Berlin`.
    package static func knows(_ zone: String) -> Bool {
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
        else { return false }
        var start: [UInt8] = []
        do throws(SystemError) {
            start = try FileDescriptor.open("/usr/share/zoneinfo/\(zone)", .read).read(upTo: 4)
        } catch { return false }
        return start == Array("TZif".utf8)
    }

    /// How many minutes the clock shows since midnight; `nil` where the database does not know the zone. C:
    /// `localtime_r(3)`.
    package static func minute(at moment: Timestamp, in zone: String) -> Int? {
        if current?.zone != zone {
            let isKnown = knows(zone)
            if isKnown {
                setenv("TZ", ":\(zone)", 1)
                tzset()
            } else if !unknown.contains(zone) {
                unknown.append(zone)
            }
            current = (zone, isKnown)
        }
        guard current?.isKnown == true else { return nil }
        var seconds = time_t(moment.seconds)
        var parts = tm()
        localtime_r(&seconds, &parts)
        return Int(parts.tm_hour) * 60 + Int(parts.tm_min)
    }

    /// The zones that were asked for and that the database does not know: an upgrade may have removed them.
    nonisolated(unsafe) package private(set) static var unknown: [String] = []

    nonisolated(unsafe) private static var current: (zone: String, isKnown: Bool)?
}
