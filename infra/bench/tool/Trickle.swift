import Crypto
import Spool
import Store
import Turnstone
import Unix

/// Accepts a notification to an iPhone, an Android phone and a browser in every interval. The receipts name
/// them by the user `all`.
func trickle(
    into folder: String, count: Int64, milliseconds: Int64, browser: String
) throws(Failure) {
    let state = try state(in: folder)
    guard let browser = DeviceToken(browser, on: .web), let user = UserID("all"),
        let phone = DeviceToken("bench:phone", on: .android)
    else { throw .malformed("no browser's token: \(browser)") }
    // Long enough ago that the document has a stamp.
    try write(user.text, devices: 0...0, in: state)
    sleep(for: .milliseconds(2100))
    var next = Instant.now
    for number in 0..<count {
        let now = Timestamp.systemNow
        let notification = Notification(
            id: stableUUID("trickle all \(number) \(now.milliseconds)"), user: user,
            accepted: now, expires: now + .days(1), push: content())
        var deliveries = [
            delivery(0, of: state, user: user.text),
            Delivery(token: phone, of: .fcm, environment: nil),
            Delivery(token: browser, of: .web, environment: nil),
        ]
        for place in deliveries.indices { deliveries[place].stamp = state.users[user].stamp }
        try Spools(state: state.folder, shards: state.shards).accept(notification, to: deliveries)
        next = next + .milliseconds(milliseconds)
        sleep(for: next - Instant.now)
    }
}

/// Accepts an urgent and an ordinary notification in every interval, whatever becomes of them: what people
/// hear of while a large one is under way. The receipts name them by their user, `urgent` and `normal`.
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
    try Spools(state: state.folder, shards: state.shards).accept(
        notification, to: [delivery(number, of: state, user: name)])
}
