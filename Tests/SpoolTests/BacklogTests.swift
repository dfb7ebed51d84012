import TestSupport
import Testing
import Turnstone
import Unix

@testable import Spool

/// Which notifications wait behind their users' older ones in the backlog.
@Suite struct BacklogTests {
    private let scratch = Scratch()

    /// Accepts so many notifications of a user.
    private func accept(_ count: Int, for user: String, urgent: Bool = false) throws {
        let id = try #require(UserID(user))
        for _ in 0..<count {
            let notification = Scratch.notification(
                try newID(for: id), for: user,
                aps: urgent ? ["interruption-level": "critical"] : [:])
            try scratch.spools.accept(notification, to: Scratch.devices)
        }
    }

    private func finish(_ file: SpoolFile, of intake: Intake) throws {
        for device in try file.rest() {
            intake.log.append(Scratch.accepted(), of: device, in: file)
        }
        try intake.log.commit()
        intake.finish(file, at: Scratch.now)
    }

    @Test("a user's lane counts until the last of those there is finished, put off or set aside")
    func end() throws {
        try accept(4, for: "42")
        try accept(1, for: "42", urgent: true)
        let intake = try scratch.intake()
        let files = try intake.all(in: .normal)
        let urgent = try #require(try intake.next(in: .urgent))
        for file in files[..<3] {
            #expect(intake.hasInBacklog(before: files[3]) == (file !== files[0]))
            #expect(intake.moveToBacklog(file))
        }
        #expect(!intake.hasInBacklog(before: urgent))
        let moved = try intake.all(in: .backlog)
        #expect(moved.count == 3)
        try finish(moved[0], of: intake)
        #expect(intake.hasInBacklog(before: files[3]))
        try intake.putOff(moved[1], until: Scratch.now + .minutes(1))
        #expect(intake.hasInBacklog(before: files[3]))
        try intake.setAside(moved[2], corrupt(moved[2].path))
        #expect(!intake.hasInBacklog(before: files[3]))
    }

    @Test("what an earlier drainer left there counts until it is finished, taken before or after")
    func left() throws {
        try accept(3, for: "42")
        let earlier = try scratch.intake()
        let files = try earlier.all(in: .normal)
        for file in files[..<2] { #expect(earlier.moveToBacklog(file)) }
        let intake = try scratch.intake()
        let file = try #require(try intake.next(in: .normal))
        // One is looked at before it is finished, and one is not.
        #expect(intake.hasInBacklog(before: file))
        let moved = try intake.all(in: .backlog)
        try finish(moved[0], of: intake)
        #expect(intake.hasInBacklog(before: file))
        try finish(moved[1], of: intake)
        #expect(!intake.hasInBacklog(before: file))
    }

    @Test("an urgent one does not wait for normal ones that an earlier drainer left there")
    func otherLane() throws {
        try accept(150, for: "42")
        let earlier = try scratch.intake()
        for file in try earlier.all(in: .normal) { #expect(earlier.moveToBacklog(file)) }
        try accept(1, for: "42", urgent: true)
        try accept(1, for: "42")
        let intake = try scratch.intake()
        let urgent = try #require(try intake.next(in: .urgent))
        #expect(!intake.hasInBacklog(before: urgent))
        #expect(intake.hasInBacklog(before: try #require(try intake.next(in: .normal))))
    }

    @Test("a drainer that is elected again looks for what another one has moved there")
    func electedAgain() throws {
        try accept(2, for: "42")
        let intake = try scratch.intake()
        let file = try #require(try intake.next(in: .normal))
        #expect(!intake.hasInBacklog(before: file))
        let other = try scratch.intake()
        #expect(other.moveToBacklog(try #require(try other.next(in: .normal))))
        try intake.recover(at: Scratch.now)
        #expect(intake.hasInBacklog(before: try #require(try intake.next(in: .normal))))
    }

    @Test("another user's notifications there are found among those of one who has thousands")
    func another() throws {
        try accept(2100, for: "42")
        let intake = try scratch.intake()
        for file in try intake.all(in: .normal) { try move(file, in: intake) }
        #expect(try intake.next(in: .backlog)?.notification.user?.text == "42")
        // The second one comes while the first one is in hand.
        for _ in 0..<2 {
            try accept(1, for: "43")
            for file in try intake.all(in: .normal) { try move(file, in: intake) }
            let next = try (0..<4).map { _ in try intake.next(in: .backlog)?.notification.user }
            #expect(next.contains { $0?.text == "43" })
        }
    }

    @Test("a user's notifications that are moved there one by one are taken in their order")
    func inOrder() throws {
        let intake = try scratch.intake()
        var ids: [String] = []
        var taken: [String] = []
        for round in 0..<30 {
            try accept(round == 0 ? 5 : 1, for: "42")
            for file in try intake.all(in: .normal) {
                ids.append(file.notification.id)
                try move(file, in: intake)
            }
            if round % 2 == 0, let file = try intake.next(in: .backlog) {
                taken.append(file.notification.id)
            }
        }
        taken += try intake.all(in: .backlog).map { $0.notification.id }
        #expect(taken == ids)
    }

    /// Moves a notification there as a drainer does.
    private func move(_ file: SpoolFile, in intake: Intake) throws {
        _ = intake.hasInBacklog(before: file)
        #expect(intake.moveToBacklog(file))
    }
}
