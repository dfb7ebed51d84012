import TestSupport
import Testing
import Turnstone

@testable import Spool

/// What is known about a series while one of its notifications is in hand. Here a push is a text.
@Suite struct SeriesGroupTests {
    private let group = SeriesGroup<String>()
    private let phone = String(repeating: "a1", count: 12)
    private let tablet = String(repeating: "b2", count: 12)

    private func order(_ moment: Int64) -> Series.Order {
        Series.Order(from: Timestamp(milliseconds: moment), accepted: 0)
    }

    private func notification(_ id: String, _ moment: Int64) -> Notification {
        var notification = Scratch.notification(id)
        notification.series = Series(["collapse x"], of: nil, order: order(moment))
        return notification
    }

    /// Takes a notification in hand.
    private func take(_ id: String, _ moment: Int64, for devices: [String]) {
        group.join(id, isLarge: false, isComplete: true)
        group.add(notification(id, moment), devices: devices)
    }

    private func ahead(of moment: Int64, on device: String) -> [String] {
        group.ahead(of: order(moment), on: device).map { $0.notification.id }
    }

    @Test func theNewestThatADeviceHasTakenCounts() {
        #expect(group.newest(on: phone) == nil)
        group.recordReached(order(2), on: phone)
        group.recordReached(order(1), on: phone)
        #expect(group.newest(on: phone) == order(2))
        #expect(group.newest(on: tablet) == nil)
    }

    @Test func whatIsAheadIsNewerForTheSameDeviceAndNewestFirst() {
        take("b", 2, for: [phone, tablet])
        take("a", 1, for: [phone])
        take("d", 4, for: [tablet])
        take("c", 3, for: [phone])
        #expect(ahead(of: 1, on: phone) == ["c", "b"])
        #expect(ahead(of: 3, on: phone) == [])
        #expect(ahead(of: 0, on: tablet) == ["d", "b"])
    }

    @Test func anOutcomeLetsTheDevicesPushesGoAndNoOthers() {
        take("a", 1, for: [phone, tablet])
        take("b", 2, for: [phone, tablet])
        group.wait("a to the phone", for: phone)
        group.wait("a to the tablet", for: tablet)
        #expect(group.waitingCount == 2)
        #expect(group.settle("b", on: phone) == ["a to the phone"])
        #expect(ahead(of: 1, on: phone) == [])
        #expect(ahead(of: 1, on: tablet) == ["b"])
        #expect(group.waitingCount == 1)
        #expect(group.releaseAll() == ["a to the tablet"] && group.waitingCount == 0)
    }

    @Test func aNotificationThatIsPutOffIsStillAhead() {
        take("a", 1, for: [phone])
        take("b", 2, for: [phone])
        group.wait("a", for: phone)
        let moment = Timestamp(milliseconds: 5000)
        #expect(group.leave("b", putOffUntil: moment) == ["a"])
        let ahead = group.ahead(of: order(1), on: phone)
        #expect(ahead.map { $0.isInHand } == [false] && ahead.first?.until == moment)
        take("b", 2, for: [phone])
        #expect(group.ahead(of: order(1), on: phone).map { $0.isInHand } == [true])
    }

    @Test func aNotificationThatIsOverIsNotAheadAnyMore() {
        take("a", 1, for: [phone])
        take("b", 2, for: [phone])
        #expect(group.leave("b", putOffUntil: nil) == [])
        #expect(ahead(of: 1, on: phone) == [])
        #expect(group.inHand == ["a"])
    }

    @Test func whatWasReadIsNotReadAgain() {
        group.join("a", isLarge: false, isComplete: true)
        group.join("b", isLarge: false, isComplete: false)
        #expect(!group.mustRead("a"), "each device that it reaches is recorded here")
        #expect(group.mustRead("b"), "earlier passes are in the receipts")
        #expect(!group.mustRead("b"))
        #expect(group.mustRead("c") && !group.mustRead("c"))
    }

    @Test func aLargeNotificationIsReadOnceItHasCompany() {
        group.join("large", isLarge: true, isComplete: false)
        #expect(group.unread == ["large"])
        take("a", 1, for: [phone])
        group.add(notification("large", 2), devices: [phone])
        #expect(group.unread.isEmpty)
        #expect(ahead(of: 1, on: phone) == ["large"])
        // Alone again, it records nothing: the devices that it reaches must be read.
        #expect(group.leave("a", putOffUntil: nil) == [])
        #expect(group.mustRead("large"))
    }

    @Test("a mark of an older program, whose name lacks the order, is read")
    func olderMark() throws {
        let scratch = Scratch()
        let series = Series(["collapse x"], of: nil, order: order(1))
        try scratch.spool.mark("new", in: series, acceptedAt: Scratch.now)
        let folder = "spool/apns/series/\(series.keys[0])/all"
        let name = try #require(scratch.files.first { $0.hasPrefix(folder) })
        #expect(name == "\(folder)/new.1.0.json")
        let older = Series(["collapse x"], of: nil, order: order(0), isScheduled: true)
        try scratch.folder.write(
            line((older.json.object ?? [:])), to: "\(folder)/old.json")
        let marks = try scratch.spool.marks(of: series).sorted { $0.order < $1.order }
        #expect(marks.map { $0.id } == ["old", "new"])
        #expect(marks.map { $0.isScheduled } == [true, false])
    }
}
