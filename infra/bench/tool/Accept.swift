import Crypto
import Documents
import Spool
import Store
import Turnstone
import Unix

/// What is accepted.
enum Crowd: String {
    /// One notification to many devices.
    case devices
    /// Many notifications to one device each, of a thousand users in turn, without fsync.
    case ones
    /// The same, all to one user's.
    case user
    /// Notifications to one device each, of as many users, each accepted as it should be.
    case singly
    /// One notification to the same device again and again.
    case same
    /// One notification to many Android phones.
    case phones
    /// One notification to the same browser again and again.
    case browser
}

/// A notification of some 300 bytes, whose badge is each device's own, so that no payload is like another.
///
/// - Parameter browser: the browser's token, for ``Crowd/browser``.
func accept(
    in folder: String, count: Int64, _ crowd: Crowd, browser: String = ""
) throws(Failure) {
    let state = try state(in: folder)
    let spools = Spools(state: state.folder, shards: state.shards)
    let users: Int64 =
        switch crowd {
        case .devices, .singly: count
        case .phones, .browser: 0
        case .ones: min(count, 1000)
        case .user, .same: 1
        }
    try register(users, in: state)
    let now = Timestamp.systemNow
    let start = Instant.now
    switch crowd {
    case .ones, .user: try acceptEach(count, of: users, at: now, in: spools, of: state)
    case .singly:
        for number in 0..<count {
            try spools.accept(notification(number, at: now), to: [delivery(number, of: state)])
        }
    case .devices:
        try spools.accept(
            notification(-1, at: now), to: (0..<count).lazy.map { delivery($0, of: state) })
    case .same:
        try spools.accept(
            notification(-1, at: now),
            to: (0..<count).lazy.map { delivery(0, of: state, badge: $0) })
    case .phones:
        try spools.accept(
            notification(-1, at: now),
            to: (0..<count).lazy.compactMap { number in
                DeviceToken("bench:\(token(number))", on: .android).map {
                    Delivery(token: $0, of: .fcm, environment: nil, badge: Int(number % 90 + 1))
                }
            })
    case .browser:
        guard let browser = DeviceToken(browser, on: .web) else {
            throw .malformed("no browser's token: \(browser)")
        }
        try spools.accept(
            notification(-1, at: now),
            to: (0..<count).lazy.map {
                Delivery(token: browser, of: .web, environment: nil, badge: Int($0 % 90 + 1))
            })
    }
    let gone = (Instant.now - start).milliseconds
    let line = Array("\(gone) \(ThisProcess.peakMemory)\n".utf8)
    try systemCalls(StandardStreams.writeOutput(line))
}

/// Accepts a notification to each user, and then makes copies of their files under other ids: a million
/// `fsync` would take ten minutes.
private func acceptEach(
    _ count: Int64, of users: Int64, at now: Timestamp, in spools: Spools, of state: State
) throws(Failure) {
    let folder = "\(spools.spool(of: .apns).folder)/ready/normal"
    var firsts: [(notification: Notification, text: [UInt8])] = []
    for number in 0..<users {
        let user = UserID(name(number))
        let notification = Notification(
            id: try newID(for: user), user: user, accepted: now, expires: now + .days(1),
            push: content())
        try spools.accept(notification, to: [delivery(number, of: state)])
        let text = try systemCalls(Files.contents("\(folder)/\(notification.id).jsonl"))
        firsts.append((notification, text ?? []))
    }
    for number in users..<max(users, count) {
        let first = firsts[Int(number % users)]
        let id = try newID(for: first.notification.user)
        let copy = replacing(first.notification.id, by: id, in: first.text)
        try systemCalls(FileDescriptor.open("\(folder)/\(id).jsonl", .truncate).write(copy))
    }
}

/// - Parameter old: is in the text once, and as long as the new one.
private func replacing(_ old: String, by new: String, in text: [UInt8]) -> [UInt8] {
    let pattern = Array(old.utf8)
    var text = text
    let start = text.indices.first { text[$0...].starts(with: pattern) } ?? 0
    text.replaceSubrange(start..<(start + pattern.count), with: new.utf8)
    return text
}

/// The users `user-0` and on, with a device each: without fsync, and so long ago that their documents have
/// stamps.
private func register(_ count: Int64, in state: State) throws(Failure) {
    for number in 0..<count { try write(name(number), devices: number...number, in: state) }
    sleep(for: .milliseconds(2100))
}

/// Writes a user's document with the devices of some numbers.
func write(_ user: String, devices: ClosedRange<Int64>, in state: State) throws(Failure) {
    let tokens = devices.map { #"{"token":"\#(token($0))","registered_at":1}"# }
    try write(tokens.joined(separator: ","), to: user, in: state)
}

private func write(_ devices: String, to user: String, in state: State) throws(Failure) {
    try UnsyncedUsers(state).write(
        #"{"devices":[\#(devices)],"ledger":[],"notices":0}"#, to: user)
}

/// Users with a Live Activity each that shows the session `final`.
func makeListeners(in folder: String, count: Int64) throws(Failure) {
    let state = try state(in: folder)
    let names = (0..<count).map(name)
    for number in 0..<count {
        let device =
            #"{"token":"\#(token(number))","kind":"live_activity","session_id":"final","#
            + #""activity_id":"\#(number)","registered_at":1}"#
        try write(device, to: name(number), in: state)
    }
    let sessions = Shelf<String, Holders>(
        folder: state.sessions.folder, durable: false, isLocal: true)
    try sessions["final"].update { $0.users = names.compactMap { UserID($0) } }
}

private func name(_ number: Int64) -> String { "user-\(number)" }

/// 64 hex digits, as Apple's tokens have.
private func token(_ number: Int64) -> String { hex(SHA256.hash(Array("device \(number)".utf8))) }

func delivery(
    _ number: Int64, of state: State, badge: Int64? = nil, user: String? = nil
) -> Delivery {
    guard let token = DeviceToken(token(number)), let user = UserID(user ?? name(number)) else {
        preconditionFailure("hex digits are a token")
    }
    var delivery = Delivery(
        token: token, environment: nil, user: user, badge: Int((badge ?? number) % 90 + 1),
        isProven: true)
    delivery.stamp = state.users[user].stamp
    return delivery
}

private func notification(_ number: Int64, at now: Timestamp) -> Notification {
    Notification(
        id: stableUUID("bench \(now.milliseconds) \(number)"), user: nil, accepted: now,
        expires: now + .days(1), push: content())
}

func content(level: String? = nil) -> PushContent {
    let text =
        "A sentence of the length that people write when they have something to say to each other, and then a "
        + "little more of it, so that the whole payload has some three hundred bytes"
    var aps: JSONObject = [
        "alert": ["title": "From the bench", "body": .string(text)], "badge": 0,
        "sound": "default",
    ]
    aps["interruption-level"] = level.map { .string($0) }
    return PushContent(
        type: .alert, priority: 10, collapseID: nil, payload: Payload(aps: aps))
}
