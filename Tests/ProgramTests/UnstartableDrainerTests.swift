import Foundation
import TestSupport
import Testing

/// An accepted request is answered as accepted even if no drainer can be started. Otherwise its sender would
/// repeat it, and everybody would get two pushes.
@Suite struct UnstartableDrainerTests {
    @Test("a message is accepted though deliver cannot be started, and the log says why")
    func missing() throws {
        let folder = TemporaryFolder()
        let alone = "\(folder.path)/notify"
        try folder.copyProgram(Programs.path("notify"), to: "notify")
        try expectAccepted(
            alone, deliver: "spawn",
            log: "unable to start \(folder.path)/deliver: it does not exist (ENOENT)")
    }

    @Test("a message is accepted even if it is unknown whether deliver should be started")
    func wrong() throws {
        try expectAccepted(
            Programs.path("notify"), deliver: "never",
            log: "unable to use TURNSTONE_DELIVER")
    }

    private func expectAccepted(_ program: String, deliver: String, log: String) throws {
        let installation = try Endpoint.installation(environment: ["TURNSTONE_DELIVER": deliver])
        let event =
            #"{"method":"POST","path":"/api/notify","#
            + #""headers":{"Authorization":"Key \#(Endpoint.serverKey)"},"#
            + #""body":{"devices":["ab12"],"title":"Hello"}}"#
        let ended = try Programs.start(
            at: program, input: Array(event.utf8),
            entries: installation.environment.map { "\($0.key)=\($0.value)" }
        ).end(timeLimit: 20)
        #expect(try Answer(event: ended.stdout).status == 202, "\(ended.stdout)")
        #expect(ended.stderr.contains(log), "\(ended.stderr)")
        let spooled = installation.state.files().keys.filter { $0.hasPrefix("spool/apns/ready/") }
        #expect(spooled.count == 1)
    }
}
