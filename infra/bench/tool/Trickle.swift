import Crypto
import Spool
import Store
import Turnstone
import Unix

/// Accepts an urgent and an ordinary notification in every interval, whatever becomes of them: what people hear of
/// while a large one is under way. The receipts name them by their user, `urgent` and `normal`.
func trickle(into folder: String, count: Int64, milliseconds: Int64) throws(Failure) {
    let state = try state(in: folder)
    for user in ["urgent", "normal"] { try write(user, devices: 0...max(0, count - 1), in: state) }
    var next = Instant.now
    for number in 0..<count {
        try accept(number, urgently: true, in: state)
        try accept(number, urgently: false, in: state)
        next = next + .milliseconds(milliseconds)
        sleep(for: next - Instant.now)
    }
}

private func accept(_ number: Int64, urgently isUrgent: Bool, in state: State) throws(Failure) {
    let name = isUrgent ? "urgent" : "normal"
    let now = Timestamp.systemNow
    let notification = Notification(
        id: stableUUID("trickle \(name) \(number) \(now.milliseconds)"), user: UserID(name),
        accepted: now, expires: now + .days(1),
        push: content(level: isUrgent ? "time-sensitive" : nil))
    try Spools(state: state.folder).accept(
        notification, to: [delivery(number, of: state, user: name)])
}
