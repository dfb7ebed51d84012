import Testing
import Turnstone

@testable import OneSignal

@Suite struct SendAfterTests {
    @Test(
        "every form of the same moment is read",
        arguments: [
            "2026-11-22T23:53:39Z", "2026-11-22T23:53:39+00:00", "2026-11-22T23:53:39.123456+00:00",
            "2026-11-23T00:53:39+01:00", "2026-11-22T23:53:39", "2026-11-22 23:53:39",
            "2026-11-22 23:53:39 GMT+0000", "2026-11-22 16:53:39 GMT-0700",
            "2026-11-22 16:53:39 UTC-07:00", "Sun Nov 22 2026 16:53:39 GMT-0700 (MST)",
            "Nov 22 2026 23:53:39 UTC",
        ])
    func forms(text: String) {
        #expect(moment(text)?.seconds == 1_795_391_619)
    }

    @Test func secondsMayBeMissing() {
        #expect(moment("2026-11-22 23:53 GMT+0000")?.seconds == 1_795_391_580)
        #expect(moment("Tue May 5 2026 00:00:00 GMT")?.seconds == 1_777_939_200)
    }

    @Test(
        "anything else is refused",
        arguments: [
            "", "soon", "2026-11-22", "2026-02-30 00:00:00", "2026-11-22 25:00:00",
            "2026-11-22 23:53:39 GMT+1", "2026-11-22 23:53:39 CET", "Nov 2026 23:53:39",
            "2026-11-22T23:53:39+0100 extra", "23:53:39 2026-11-22", "T", "2026-11-22T",
        ])
    func refused(text: String) {
        #expect(moment(text) == nil)
    }
}
