import Crypto
import Glibc
import Spool
import TestSupport
import Testing
import Turnstone

// Boxes of held messages that cannot be used for a while.

extension UnusableFilesTests {
    /// Keeps a message for bob, whose moment has come.
    private func hold() throws {
        let bob = try #require(UserID("bob"))
        let token = try #require(DeviceToken(Self.bob))
        let now = Timestamp(milliseconds: 1_795_262_400_000)
        var message = Notification(
            id: DamagedSpoolTests.sound, user: bob, accepted: now - .hours(1),
            expires: now + .hours(1),
            push: PushContent(
                type: .alert, priority: 10, collapseID: nil,
                payload: Payload(aps: ["alert": ["title": "A"]])))
        message.kind = "message"
        try Spool(state: state.path, .apns).hold(
            message, Delivery(token: token, environment: nil),
            in: HeldBox(of: bob, token.publicID), until: now - .minutes(1), now: now - .hours(1))
    }

    @Test(
        "held messages are sent as soon as the folder that they could not be moved to can be used")
    func releasedFolder() throws {
        try hold()
        try state.write("", to: "spool/apns/held/released/x")
        try give()
        takeAway("spool/apns/held/released")
        var environment = installation.environment
        environment["DELIVER_LINGER_SECONDS"] = "2"
        let running = try Programs.start(
            "deliver", entries: environment.map { "\($0.key)=\($0.value)" })
        // It has begun, and has met the folder.
        for _ in 0..<500 where state.read("set-aside.jsonl") == nil { usleep(20_000) }
        chown("\(state.path)/spool/apns/held/released", Self.account, Self.account)
        let ended = try running.end(timeLimit: 60)
        #expect(ended.exitCode == 0)
        #expect(ended.stdout.contains("\"title\":\"A\""), "\(ended.stdout) \(ended.stderr)")
        #expect(ended.stderr.ranges(of: "EACCES").count == 1, "\(ended.stderr)")
    }

    @Test(
        "held messages are sent even if a folder of another moment cannot be entered, and health names it"
    )
    func anotherMoment() throws {
        try hold()
        let name = "spool/apns/held/1795348800000-1795262400000"
        try state.write("", to: "\(name)/x")
        try give()
        takeAway(name)
        let ended = try Programs.run(
            "deliver", environment: installation.environment, timeLimit: 30)
        #expect(ended.exitCode == 0)
        #expect(ended.stdout.contains("\"title\":\"A\""), "\(ended.stdout) \(ended.stderr)")
        #expect(try health().contains(name))
    }
}
