import Foundation
import JSON
import Synchronization
import TestSupport
import Testing
import Turnstone
import Unix

/// Messages to a segment while 16 processes change the tags by which it chooses, some of them killed.
///
/// Who certainly matched throughout gets each message once, and who certainly matched at no time gets none.
/// Of the others nothing is claimed.
@Suite struct SegmentTests {
    private static let key = "the key of the backend of the app"
    private static let changers = 16

    private let folder = TemporaryFolder()

    private var environment: [String: String] {
        [
            "TURNSTONE_STATE": folder.path, "TURNSTONE_CONFIG": "/dev/null",
            "TURNSTONE_SERVER_KEY": Self.key, "TURNSTONE_DELIVER": "external",
            "DELIVER_LINGER_SECONDS": "0",
        ]
    }

    private func event(_ method: String, _ path: String, _ body: String) -> String {
        #"{"method": "\#(method)", "path": "\#(path)", "headers": {"Authorization": "Key \#(Self.key)"}, "body": \#(body)}"#
    }

    private func token(_ user: String) -> String {
        user.utf8.map { String(format: "%02x", $0) }.joined()
    }

    /// Makes a user with a device.
    private func make(_ user: String, role: String) throws {
        let made = try Programs.run(
            "onesignal-users",
            stdin: event(
                "POST", "/apps/\(Self.appID)/users",
                #"{"identity": {"external_id": "\#(user)"}, "properties": {"tags": {"role": "\#(role)"}}, "subscriptions": [{"type": "iOSPush", "token": "\#(token(user))"}]}"#
            ), environment: environment.merging(["ONESIGNAL_APP_ID": Self.appID]) { $1 })
        #expect(made.stdout.contains(#""statusCode":201"#), "\(made.stdout)")
    }

    private static let appID = "0fc0a8e0-9727-49b6-9e37-5d6d919d741f"

    /// A change of a user's role: when it began and ended, in microseconds, and the role afterwards, if it is
    /// known.
    private struct Change: Sendable {
        let began: Int64
        let ended: Int64
        let role: String?
    }

    /// Changes a user's role until all messages are sent.
    private func change(_ user: String, until isOver: borrowing Atomic<Bool>) throws -> [Change] {
        var changes = [Change(began: 0, ended: 0, role: "guest")]
        let entries = environment.map { "\($0.key)=\($0.value)" }
        while !isOver.load(ordering: .relaxed) {
            let role = Bool.random() ? "admin" : "guest"
            let began = Instant.microseconds
            let program = try Programs.start(
                "users",
                input: Array(
                    event("PATCH", "/api/users/\(user)", #"{"tags": {"role": "\#(role)"}}"#).utf8),
                entries: entries)
            if Int.random(in: 0..<5) == 0 {
                usleep(UInt32.random(in: 0..<20_000))
                program.send(SIGKILL)
            }
            let isDone = try program.end().stdout.contains(#""statusCode":200"#)
            changes.append(
                Change(
                    began: began, ended: Instant.microseconds, role: isDone ? role : nil))
            usleep(UInt32.random(in: 0..<30_000))
        }
        return changes
    }

    /// A message, between the moments before it was accepted and after it was delivered.
    private struct Message: Sendable {
        let number: Int
        let began: Int64
        let ended: Int64
    }

    private func send(_ count: Int) throws -> [Message] {
        try (0..<count).map { number in
            let began = Instant.microseconds
            let sent = try Programs.run(
                "notify",
                stdin: event(
                    "POST", "/api/notify",
                    #"{"filters": [{"field": "tag", "key": "role", "relation": "=", "value": "admin"}], "title": "x", "data": {"number": \#(number)}}"#
                ), environment: environment)
            #expect(sent.stdout.contains(#""statusCode":202"#), "\(sent.stdout)")
            _ = try Programs.run("deliver", environment: environment)
            return Message(number: number, began: began, ended: Instant.microseconds)
        }
    }

    /// The role that a user certainly had all the time; `nil` if it is not certain.
    private func role(_ changes: [Change], during message: Message) -> String? {
        guard !changes.contains(where: { $0.ended > message.began && $0.began < message.ended })
        else { return nil }
        return changes.last { $0.ended <= message.began }?.role
    }

    @Test func tagsChangeWhileSegmentsSend() async throws {
        let constant = (0..<4).map { "constant-\($0)" }
        for user in constant { try make(user, role: "admin") }
        try make("never", role: "guest")
        let changing = (0..<Self.changers).map { "changing-\($0)" }
        for user in changing { try make(user, role: "guest") }
        let isOver = Flag()
        let count = Length.times(400, few: 5)
        async let histories = atOnce(Self.changers) { number in
            try change(changing[number], until: isOver.value)
        }
        let messages = try await onItsOwnThread {
            defer { isOver.value.store(true, ordering: .relaxed) }
            return try send(count)
        }
        let changes = try await histories
        var pushes: [String: [Int64]] = [:]
        for (name, bytes) in folder.files() where name.hasPrefix("outgoing/") {
            let push = try JSON.parse(bytes).object
            let number = push?["payload"]?.object?["number"]?.integer
            pushes[push?["device"]?.string ?? "", default: []].append(number ?? -1)
        }
        func received(_ user: String, _ message: Message) -> Int {
            (pushes[token(user)] ?? []).count { $0 == message.number }
        }
        var certain = 0
        for message in messages {
            for user in constant { #expect(received(user, message) == 1) }
            #expect(received("never", message) == 0)
            for (user, changes) in zip(changing, changes) {
                #expect(received(user, message) <= 1)
                guard let role = role(changes, during: message) else { continue }
                certain += 1
                #expect(
                    received(user, message) == (role == "admin" ? 1 : 0),
                    "message \(message.number), \(user): \(role)")
            }
        }
        try Rows.add([
            "test": .string(Rows.test(#function)),
            "attack": .string(
                "\(Self.changers) processes change tags while \(count) messages go to a segment"),
            "door": "events", "figure": "users left out or reached wrongly, of those certain",
            "before": "-", "now": .string("0 of \(certain + count * (constant.count + 1))"),
        ])
    }
}

/// A flag that threads share.
private final class Flag: Sendable {
    let value = Atomic(false)
}
