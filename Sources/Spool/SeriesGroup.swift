import Turnstone

/// The state of one series while at least one of its notifications is in hand: which devices have
/// accepted them, and which devices they are still for.
///
/// Pushes wait here while a newer one to the same device is in hand.
package final class SeriesGroup<Push> {
    /// A notification that has devices without an outcome.
    package final class Member {
        package let notification: Notification
        package let order: Series.Order
        /// Whether it is in hand. If not, it waits in the spool.
        package fileprivate(set) var isInHand: Bool
        /// When it is tried again, if it is not in hand.
        package fileprivate(set) var until: Timestamp
        /// Whether its sender requested ``until``.
        package let isScheduled: Bool
        /// How many of its deliveries are for each device: users with different tokens may know two phones by
        /// the same id.
        fileprivate var devices: [UInt64: Int]

        fileprivate init(
            _ notification: Notification, _ order: Series.Order, _ devices: [UInt64: Int],
            isInHand: Bool, until: Timestamp, isScheduled: Bool
        ) {
            self.notification = notification
            self.order = order
            self.devices = devices
            self.isInHand = isInHand
            self.until = until
            self.isScheduled = isScheduled
        }
    }

    /// The ids of the notifications in hand.
    package private(set) var inHand: Set<String> = []
    /// Those of them whose devices were not read: large notifications, while no other of the series is in
    /// hand.
    package private(set) var unread: Set<String> = []
    /// The notifications whose receipts and files need not be read, because everything about them is here.
    private var known: Set<String> = []
    private var members: [String: Member] = [:]
    /// By device, the members that it has yet to get, newest first.
    private var open: [UInt64: [Member]] = [:]
    /// By device, the newest notification that it has accepted.
    private var reached: [UInt64: Series.Order] = [:]
    /// The newest notification that was recorded for any device; an upper bound, because it never falls.
    private var newestOfAll: Series.Order?
    private var waiting: [UInt64: [Push]] = [:]
    /// The number of pushes that wait.
    package private(set) var waitingCount = 0

    package init() {}

    // MARK: Notifications

    /// Records that a notification is in hand.
    ///
    /// - Parameter isComplete: whether each device that it reaches will be recorded here. If not, its
    ///   receipts must be read.
    package func join(_ id: String, isLarge: Bool, isComplete: Bool) {
        inHand.insert(id)
        if isLarge { unread.insert(id) }
        if isComplete { known.insert(id) }
    }

    /// Whether a notification's receipts and file must be read. The caller reads them, so the answer is
    /// `true` only once.
    package func mustRead(_ id: String) -> Bool { known.insert(id).inserted }

    /// Records the devices that a notification is still for.
    ///
    /// - Parameter state: how it waits in the spool; `nil` if it is in hand.
    @export(interface)
    package func add(
        _ notification: Notification, devices: [String],
        waiting state: (until: Timestamp, isScheduled: Bool)? = nil
    ) {
        guard let order = notification.series?.order else { return }
        forget(notification.id)
        // A scheduled notification replaces nothing until it is in hand.
        if state?.isScheduled != true { newestOfAll = max(newestOfAll ?? order, order) }
        unread.remove(notification.id)
        let member = Member(
            notification, order, devices.reduce(into: [:]) { $0[key($1), default: 0] += 1 },
            isInHand: state == nil,
            until: state?.until ?? Timestamp(milliseconds: 0),
            isScheduled: state?.isScheduled ?? false)
        members[notification.id] = member
        for device in member.devices.keys {
            var list = open[device] ?? []
            list.insert(member, at: list.firstIndex { $0.order < order } ?? list.count)
            open[device] = list
        }
    }

    /// Records that a notification is no longer in hand.
    ///
    /// - Parameter moment: until when it was put off; `nil` if it is finished.
    /// - Returns: the pushes that waited for it.
    @export(interface)
    package func leave(_ id: String, putOffUntil moment: Timestamp?) -> [Push] {
        inHand.remove(id)
        unread.remove(id)
        let devices = Array(members[id]?.devices.keys ?? [:].keys)
        if let moment, let member = members[id] {
            member.isInHand = false
            member.until = moment
        } else {
            forget(id)
        }
        // A large notification that is alone records no devices. They are read again when another one comes.
        if inHand.count == 1 { known = [] }
        return devices.flatMap { release($0) }
    }

    private func forget(_ id: String) {
        guard let member = members.removeValue(forKey: id) else { return }
        for device in member.devices.keys { remove(member, from: device) }
    }

    private func remove(_ member: Member, from device: UInt64) {
        guard var list = open[device] else { return }
        list.removeAll { $0 === member }
        open[device] = list.isEmpty ? nil : list
    }

    // MARK: Devices

    /// Records that a device has accepted a notification.
    package func recordReached(_ order: Series.Order, on device: String) {
        let key = key(device)
        reached[key] = max(reached[key] ?? order, order)
        newestOfAll = max(newestOfAll ?? order, order)
    }

    /// The newest notification that a device has accepted.
    package func newest(on device: String) -> Series.Order? {
        reached.isEmpty ? nil : reached[key(device)]
    }

    /// Whether any device may have accepted a newer notification, or have yet to get one.
    package func hasNewer(than order: Series.Order) -> Bool {
        newestOfAll.map { $0 > order } ?? false
    }

    /// Records that a notification has its outcome for a device.
    ///
    /// - Returns: the pushes to the device that waited for that.
    package func settle(_ id: String, on device: String) -> [Push] {
        let key = key(device)
        guard let member = members[id], let left = member.devices[key] else { return release(key) }
        guard left == 1 else {
            member.devices[key] = left - 1
            return []
        }
        member.devices[key] = nil
        remove(member, from: key)
        return release(key)
    }

    /// The newer notifications that a device has yet to get, newest first.
    package func ahead(of order: Series.Order, on device: String) -> ArraySlice<Member> {
        open[key(device)]?.prefix { $0.order > order } ?? []
    }

    // MARK: Waiting

    /// Keeps a push until a newer one to the device has its outcome.
    package func wait(_ push: Push, for device: String) {
        waiting[key(device), default: []].append(push)
        waitingCount += 1
    }

    private func release(_ device: UInt64) -> [Push] {
        guard waitingCount > 0, let pushes = waiting.removeValue(forKey: device) else { return [] }
        waitingCount -= pushes.count
        return pushes
    }

    /// Removes and returns all pushes that wait.
    package func releaseAll() -> [Push] {
        defer {
            waiting = [:]
            waitingCount = 0
        }
        return waiting.values.flatMap { $0 }
    }

    /// The first 16 hex digits of a device's id, as a number.
    private func key(_ device: String) -> UInt64 {
        UInt64(String(decoding: device.utf8.prefix(16), as: UTF8.self), radix: 16) ?? 0
    }
}
