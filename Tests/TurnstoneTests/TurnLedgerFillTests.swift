import Testing
import Turnstone

/// The turns in a notice at the moment it is sent: ``TurnLedger/fill(_:from:)``.
@Suite struct TurnLedgerFillTests {
    /// Notice 4 of game 10 was accepted; 5 of game 20 and 6 of games 30 and 40 are queued.
    private var ledger: TurnLedger {
        var ledger = TurnLedger().marking([game(10)], notice: 4)
        ledger.queue([game(20)], notice: 5)
        ledger.queue([game(30), game(40)], notice: 6)
        return ledger
    }

    private func notices(_ ledger: TurnLedger) -> [Int64: Int64] {
        Dictionary(uniqueKeysWithValues: ledger.entries.map { ($0.turn.game, $0.notice) })
    }

    @Test func aNoticeTellsOfItsOwnTurnsAndOfOlderUntoldOnesInTheLooksOrder() {
        var ledger = ledger
        let named = ledger.fill(6, from: [game(40), game(20), game(10), game(30)])
        #expect(named.map(\.id) == [40, 20, 30])
        #expect(notices(ledger) == [10: 4, 20: 6, 30: 6, 40: 6])
        #expect(ledger.openNotices == [6])
    }

    @Test func turnsOfANewerNoticeAreLeftToIt() {
        var ledger = ledger
        #expect(ledger.fill(5, from: [game(20), game(30), game(40)]).map(\.id) == [20])
        #expect(notices(ledger) == [10: 4, 20: 5, 30: 6, 40: 6])
    }

    @Test func aTurnThatWaitsNoMoreIsForgottenByItsNotice() {
        var ledger = ledger
        #expect(ledger.fill(6, from: [game(10), game(40)]).map(\.id) == [40])
        // That of the older notice stays: that one may still be sent.
        #expect(notices(ledger) == [10: 4, 20: 5, 40: 6])
    }

    @Test func aNoticeWithNoTurnOfItsOwnLeavesTheOthersToTheirs() {
        var ledger = ledger
        #expect(ledger.fill(6, from: [game(10), game(20)]).isEmpty)
        #expect(notices(ledger) == [10: 4, 20: 5])
    }

    @Test func aGameThatHasMovedOnIsNotTheTurnThatWasQueued() {
        var ledger = ledger
        let moved = game(30) { $0.moveCount = 39 }
        #expect(ledger.fill(6, from: [moved, game(40)]).map(\.id) == [40])
        #expect(!ledger.holds(Turn(moved)) && ledger[30] == nil)
    }

    @Test func whatWasToldIsNotToldAgain() {
        var ledger = ledger
        ledger.markAccepted(6)
        ledger.queue([game(50)], notice: 7)
        #expect(ledger.fill(7, from: [game(10), game(30), game(50)]).map(\.id) == [50])
        #expect(notices(ledger) == [10: 4, 20: 5, 30: 6, 40: 6, 50: 7])
    }

    @Test("a notice that is accepted after a newer one has taken over its turns has told them")
    func acceptedLate() throws {
        var ledger = ledger
        _ = ledger.fill(6, from: [game(20), game(30), game(40)])
        let stored = try #require(TurnLedger(ledger.json))
        #expect(stored == ledger)
        ledger.markAccepted(5)
        #expect(ledger[20]?.isNotified == true)
        #expect(ledger[20]?.first == 5)
        #expect(ledger[30]?.isNotified == false)
        ledger.forget(6)
        #expect(notices(ledger) == [10: 4, 20: 6])
    }

    @Test func aNoticeThatADeviceHasTakenTellsTheSameOnAnother() {
        var ledger = ledger
        ledger.markAccepted(6)
        let before = ledger
        #expect(ledger.fill(6, from: [game(30), game(40)]).map(\.id) == [30, 40])
        #expect(ledger == before)
    }

    @Test func aNoticeAboutNothingTellsNothing() {
        var ledger = ledger
        #expect(ledger.fill(6, from: []).isEmpty)
        #expect(notices(ledger) == [10: 4, 20: 5])
    }
}
