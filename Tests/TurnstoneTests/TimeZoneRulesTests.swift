import Foundation
import TestSupport
import Testing
import Turnstone

/// Compared with `zdump(8)`'s output for the system's own time zone database.
@Suite struct TimeZoneRulesTests {
    private static let folder = "/usr/share/zoneinfo"

    /// The zones of the database.
    private static let zones: [String] = {
        let names =
            FileManager.default.enumerator(atPath: folder)?.compactMap { $0 as? String } ?? []
        return names.filter { name in
            !name.hasPrefix("right/") && !name.hasPrefix("posix/")
                && bytes(of: name).starts(with: Array("TZif".utf8))
        }.sorted()
    }()

    private static func bytes(of zone: String) -> [UInt8] {
        FileManager.default.contents(atPath: "\(folder)/\(zone)").map { Array($0) } ?? []
    }

    /// A line of `zdump -v`: `ZONE  Sun Mar 29 01:00:00 2026 UT = Sun Mar 29 03:00:00 2026 CEST isdst=1
    /// gmtoff=7200`.
    private struct Line {
        let zone: String
        let moment: Timestamp
        let offset: Int64

        init?(_ text: Substring) {
            let months = [
                "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
            ]
            let words = text.split(separator: " ")
            guard words.count == 16, words[6] == "UT",
                let month = months.firstIndex(of: String(words[2])),
                let day = Int(words[3]), let offset = Int64(words[15].dropFirst("gmtoff=".count))
            else { return nil }
            let date = "\(words[5])-\(Self.padded(month + 1))-\(Self.padded(day))T\(words[4])Z"
            guard let moment = Timestamp(date) else { return nil }
            zone = String(words[0])
            self.moment = moment
            self.offset = offset
        }

        private static func padded(_ number: Int) -> String {
            number < 10 ? "0\(number)" : "\(number)"
        }
    }

    @Test("each zone's clocks change when the system's do, from 1970 to 2100")
    func changes() throws {
        #expect(Self.zones.count > 300)
        let ended = try Programs.start(
            at: "/usr/bin/zdump", ["-v", "-c", "1970,2100"] + Self.zones, entries: ["LC_ALL=C"]
        ).end()
        var rules: [String: TimeZoneRules] = [:]
        for zone in Self.zones {
            rules[zone] = TimeZoneRules(Self.bytes(of: zone))
        }
        var count = 0
        for text in ended.stdout.split(separator: "\n") {
            guard let line = Line(text) else { continue }
            count += 1
            let offset = try #require(rules[line.zone]).offset(at: line.moment)
            guard offset != line.offset else { continue }
            Issue.record("\(text): \(offset)")
        }
        #expect(count > 10_000)
    }

    @Test("the clock's minute is between 0 and 1439 at any moment")
    func minutes() throws {
        let rules = try #require(TimeZoneRules(Self.bytes(of: "Europe/Berlin")))
        #expect(rules.minute(at: Timestamp(milliseconds: 1_774_745_999_999)) == 119)
        #expect(rules.minute(at: Timestamp(milliseconds: 1_774_746_000_000)) == 180)
        #expect(rules.minute(at: Timestamp(milliseconds: 1_792_890_000_000)) == 120)
        for milliseconds in [Int64.min, -1, 0, 4_102_444_800_000, Int64.max] {
            let minute = rules.minute(at: Timestamp(milliseconds: milliseconds))
            #expect((0..<1440).contains(minute))
        }
    }

    @Test("a file that is cut, changed or of another kind is refused or read, and never a trap")
    func damaged() throws {
        let sound = Self.bytes(of: "America/New_York")
        for length in 0..<sound.count {
            #expect(TimeZoneRules(Array(sound[..<length])) == nil)
        }
        var dice = SystemRandomNumberGenerator()
        for _ in 0..<3000 {
            var bytes = sound
            for _ in 0..<Int.random(in: 1...4, using: &dice) {
                bytes[Int.random(in: 0..<bytes.count, using: &dice)] = UInt8.random(
                    in: 0...255, using: &dice)
            }
            guard let rules = TimeZoneRules(bytes) else { continue }
            for year in Int64(0)..<60 {
                let moment = Timestamp(milliseconds: year * 31_556_952_000)
                let minute = rules.minute(at: moment)
                if !(0..<1440).contains(minute) { Issue.record("\(minute) in \(bytes)") }
            }
        }
        #expect(TimeZoneRules(Array("TZif".utf8)) == nil)
    }
}
