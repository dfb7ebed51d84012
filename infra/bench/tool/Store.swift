import Crypto
import Documents
import JSON
import Store
import Turnstone
import Unix

func state(in folder: String) throws(Failure) -> State {
    var variables = Variables()
    variables.offer("TURNSTONE_STATE", folder)
    return try State(variables)
}

private func user(_ number: Int64, devices: Int) -> User {
    var user = User()
    for place in 1...devices {
        // 64 hex digits, as Apple's tokens have.
        let token = hex(SHA256.hash(Array("\(number) \(place)".utf8)))
        if let token = DeviceToken(token) {
            user.devices.append(Device(token, registered: Timestamp(milliseconds: 1)))
        }
    }
    return user
}

func commit(in folder: String, count: Int64, user number: Int64) throws(Failure) {
    let users = try state(in: folder).users
    guard let player = PlayerID(number: number) else { throw .malformed("no such user") }
    let name = UserID(player)
    try users[name].update { (document) throws(Failure) in document = user(number, devices: 7) }
    for turn in 1..<max(2, count) {
        try users[name].update { (document) throws(Failure) in
            document.devices[0].registered = Timestamp(milliseconds: turn)
        }
    }
}

/// The documents and marks are written without fsync.
func makePlayers(in folder: String, count: Int64, lookedSecondsAgo: Int64) throws(Failure) {
    let state = try state(in: folder)
    try write(count, in: state)
    let looked = Timestamp(
        milliseconds: Timestamp.systemNow.milliseconds - lookedSecondsAgo * 1000)
    _ = try PlayerIndex.electing(in: state) { (index) throws(Failure) in
        _ = try index.compare { _ in }
        let interval = Interval.seconds(lookedSecondsAgo)
        for claim in index.claim(at: looked, interval: interval) {
            _ = try index.begin(claim, at: looked, interval: interval)
            try state.watch.update(claim.player) { $0.recordUnchanged(lookBegan: looked) }
            try index.end(claim)
        }
        try index.save { _ in }
    }
}

private func write(_ count: Int64, in state: State) throws(Failure) {
    let users = UnsyncedUsers(state)
    for number in 1_000_000..<(1_000_000 + count) {
        let token = hex(SHA256.hash(Array("\(number) 1".utf8)))
        try users.write(
            #"{"devices":[{"token":"\#(token)","registered_at":1}],"ledger":[],"notices":0,"keys":[]}"#,
            to: "\(number)")
    }
}

/// Users' documents, committed as programs commit them, but without fsync.
struct UnsyncedUsers {
    private let shelf: Shelf<UserID, User>

    init(_ state: State) {
        shelf = Shelf(folder: state.users.folder, durable: false, isLocal: true)
    }

    func write(_ members: String, to user: String) throws(Failure) {
        var content: User?
        do throws(JSONError) {
            content = try JSON.parse(Array(members.utf8)).object.flatMap { User($0) }
        } catch {}
        guard let content, let user = UserID(user) else { throw .malformed("no user: \(members)") }
        try shelf[user].update { $0 = content }
    }
}
