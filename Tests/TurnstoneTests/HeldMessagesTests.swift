import Testing

@testable import Turnstone

@Suite struct HeldMessagesTests {
    private let morning = Timestamp(milliseconds: 1_800_000_000_000)

    private func message(_ id: String, collapseID: String? = nil) -> HeldMessages.Message {
        HeldMessages.Message(
            id: id, payload: ["aps": ["alert": ["title": .string(id)]]], collapseID: collapseID,
            expires: morning + .hours(1))
    }

    @Test("what is released stays until it is over, whatever is held meanwhile")
    func released() {
        var held = HeldMessages()
        let needsReminder = [
            held.add(message("a"), until: morning), held.add(message("b"), until: morning),
        ]
        held.release { _, _ in "1" }
        let needsAnother = held.add(message("c"), until: morning + .days(1))
        held.release { _, _ in "2" }
        #expect(needsReminder == [true, false] && needsAnother)
        #expect(held.releases.map(\.id) == ["1", "2"])
        #expect(held.releases.map(\.messageIDs) == [["a", "b"], ["c"]])
        #expect(held.releases[0].message.payload["merged"] == 2)
        #expect(held.releases[1].message == message("c"))
        #expect(HeldMessages(held.json) == held)
        held.finish("1")
        held.finish("2")
        #expect(held == HeldMessages())
    }

    @Test("a message with the same id, or the same collapse id, takes the other's place")
    func replaced() {
        var held = HeldMessages()
        for id in ["a", "a", "b"] { _ = held.add(message(id, collapseID: "x"), until: morning) }
        held.release { _, _ in "1" }
        #expect(held.releases.map(\.message) == [message("b", collapseID: "x")])
        #expect(held.releases.map(\.messageIDs) == [["a", "b"]])
    }

    @Test("what is called off is not released, and leaves nothing to wait for")
    func calledOff() throws {
        var held = HeldMessages()
        for id in ["a", "b"] { _ = held.add(message(id), until: morning) }
        try held.remove { $0 == "a" }
        #expect(held.messageIDs == ["b"])
        try held.remove { $0 == "b" }
        held.release { _, _ in "1" }
        #expect(held == HeldMessages())
    }

    @Test("of many the newest are shown, and all are counted")
    func many() {
        var held = HeldMessages()
        for number in 1...30 { _ = held.add(message("\(number)"), until: morning) }
        held.release { _, _ in "1" }
        #expect(held.releases.map(\.messageIDs.count) == [30])
        #expect(held.releases.map(\.message.payload["merged"]) == [30])
    }

    @Test("a reminder is asked for again when the quiet hours end at another moment")
    func changedHours() {
        var held = HeldMessages()
        let asked = [morning, morning + .hours(1), morning + .hours(1)].map {
            held.add(message("a"), until: $0)
        }
        #expect(asked == [true, true, false])
    }
}
