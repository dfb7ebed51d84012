import Testing
import Turnstone

@testable import Unix

@Suite struct WallClockTests {
    @Test(
        "a name of the database is a time zone",
        arguments: ["Europe/Berlin", "UTC", "Etc/GMT+5", "America/Argentina/Buenos_Aires", "EST"])
    func zones(name: String) throws {
        #expect(try WallClock.knows(name))
    }

    @Test(
        "another file of its folder is none",
        arguments: [
            "localtime", "posixrules", "Factory", "right/Europe/Berlin", "right/UTC",
            "posix/Europe/Berlin", "leapseconds", "zone.tab", "tzdata.zi", "Europe", "Europe/",
            "europe/berlin", "/Europe/Berlin", "", "Europe/../localtime",
        ])
    func others(name: String) throws {
        #expect(try !WallClock.knows(name))
    }

    @Test func quietHoursInAFormerNameStayAsTheyWere() {
        let moment = Timestamp(milliseconds: 1_795_262_400_000)
        let minute = WallClock.minute(at: moment, in: "posix/Europe/Berlin")
        #expect(minute == WallClock.minute(at: moment, in: "Europe/Berlin"))
    }
}
