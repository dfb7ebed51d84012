import Store
import TestSupport
import Testing
import Turnstone

/// The number on the app's icon, and the messages that changed it.
@Suite struct BadgeMessagesTests {
    private func user(_ badge: Int64 = 0) -> User {
        var user = User()
        user.changeBadge(.set(badge))
        return user
    }

    /// As the next program reads the document.
    private func stored(_ user: User) throws -> User { try #require(User(user.members)) }

    @Test("a message counts once, and can be taken back once")
    func once() throws {
        var user = user(3)
        for _ in 0..<2 { user.changeBadge(.add(2), messageID: "a") }
        #expect(user.badge == 5)
        user = try stored(user)
        for _ in 0..<2 { user.takeBackBadge(.add(2), messageID: "a") }
        #expect(user.badge == 3)
    }

    @Test(
        "what met the limit is taken back as far as it counted",
        arguments: [(0, -1), (1, -3), (999_998, 5), (999_999, 1), (7, 2)] as [(Int64, Int64)])
    func limits(badge: Int64, number: Int64) throws {
        var user = user(badge)
        user.changeBadge(.add(number), messageID: "a")
        user = try stored(user)
        user.takeBackBadge(.add(number), messageID: "a")
        #expect(user.badge == badge)
    }

    @Test("a number that was set since stays, and only later messages are taken back")
    func set() throws {
        var user = user()
        user.changeBadge(.add(1), messageID: "a")
        user.changeBadge(.set(7))
        user.changeBadge(.add(1), messageID: "b")
        user.changeBadge(.set(4), messageID: "c")
        user.changeBadge(.add(2), messageID: "d")
        user = try stored(user)
        for (id, number) in [("a", 1), ("b", 1), ("d", 2)] as [(String, Int64)] {
            user.takeBackBadge(.add(number), messageID: id)
        }
        #expect(user.badge == 4)
        user.changeBadge(.add(1), messageID: "e")
        user.takeBackBadge(.add(1), messageID: "e")
        #expect(user.badge == 4)
    }

    @Test(
        "of many messages those that have not ended are known, and no stored number stops the program"
    )
    func many() throws {
        var user = user()
        user.changeBadge(.set(0), messageID: "set")
        for number in 0..<150 { user.changeBadge(.add(1), messageID: "\(number)") }
        #expect(user.badgeMessages.areMany)
        user.forgetBadgeMessages(allBut: ["10", "148", "149"])
        user = try stored(user)
        #expect(user.badgeMessages.ids == ["10", "148", "149"] && !user.badgeMessages.areMany)
        for id in ["9", "10", "149"] { user.takeBackBadge(.add(1), messageID: id) }
        #expect(user.badge == 148)
        user.changeBadge(.add(1), messageID: "148")
        #expect(user.badge == 148)
        var members = user.members
        members["badge_settled"] = .integer(.max)
        members["badge_added"] = ["148": .integer(.min)]
        user = try #require(User(members))
        user.takeBackBadge(.add(1), messageID: "148")
        members["badge_settled"] = .integer(.min)
        user = try #require(User(members))
        user.takeBackBadge(.add(1), messageID: "148")
        #expect(user.badge == BadgeChange.maximum)
    }

    @Test("the number of messages doubles before those that have ended are looked for again")
    func doubled() throws {
        var user = user()
        var looks = 0
        for number in 0..<1000 {
            user.changeBadge(.add(1), messageID: "\(number)")
            guard user.badgeMessages.areMany else { continue }
            looks += 1
            // None of them has ended.
            user.forgetBadgeMessages(allBut: Set(user.badgeMessages.ids))
            user = try stored(user)
        }
        #expect(looks == 4 && user.badgeMessages.ids.count == 1000)
    }
}
