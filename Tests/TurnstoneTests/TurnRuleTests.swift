import Testing
import Turnstone

@Suite struct TurnRuleTests {
    private func judge(
        _ games: [Game], skipped: Int = 0, _ ledger: TurnLedger = TurnLedger(),
        includingLive: Bool = false
    ) -> TurnRule.Judgement {
        TurnRule.judge(
            ActiveGames(games: games, skipped: skipped), ledger: ledger, player: me,
            includingLive: includingLive)
    }

    @Test func everyGameIsOnOneSide() {
        let games = [
            game(1), game(2) { $0.currentPlayer = opponent },
            game(3) { $0.pauseKeys = ["weekend"] },
            game(4) { $0.speed = .live }, game(5, inStoneRemoval), game(6),
        ]
        let judgement = judge(games, TurnLedger().marking([game(6)], notice: 1))
        #expect(judgement.new.map(\.id) == [1, 5])
        #expect(judgement.old.map(\.id) == [6])
        #expect(judgement.held.map(\.id) == [3, 4])
        #expect(judgement.elsewhere.map(\.id) == [2])
        #expect(judgement.badge == 3)
    }

    @Test func aTurnIsNewOnce() {
        let first = judge([game(1)])
        #expect(first.new.map(\.id) == [1])
        let second = judge([game(1)], first.ledger.marking(first.new, notice: 1))
        #expect(second.new.isEmpty)
        #expect(second.old.map(\.id) == [1])
        #expect(second.badge == 1)
    }

    @Test func aTurnThatWasNotMarkedStaysNew() {
        let first = judge([game(1)])
        #expect(judge([game(1)], first.ledger).new.map(\.id) == [1])
    }

    @Test func theNextTurnInTheSameGameIsNew() {
        let ledger = TurnLedger().marking([game(1)], notice: 1)
        let waiting = judge([game(1) { $0.currentPlayer = opponent }], ledger)
        #expect(waiting.badge == 0)
        #expect(judge([game(1) { $0.moveCount = 39 }], waiting.ledger).new.map(\.id) == [1])
    }

    @Test func aPauseDoesNotMakeATurnNewAgain() {
        var ledger = TurnLedger().marking([game(1)], notice: 1)
        ledger = judge([game(1) { $0.pauseKeys = ["weekend"] }], ledger).ledger
        let resumed = judge([game(1) { $0.lastMove = noon + .days(2) }], ledger)
        #expect(resumed.new.isEmpty)
        #expect(resumed.old.map(\.id) == [1])
    }

    @Test func aTurnThatBeganInAPauseIsNewAfterIt() {
        let paused = judge([game(1) { $0.pauseKeys = ["vacation-42"] }])
        #expect(paused.new.isEmpty)
        #expect(judge([game(1)], paused.ledger).new.map(\.id) == [1])
    }

    @Test func stoneRemovalIsATurnOfItsOwn() {
        let ledger = TurnLedger().marking([game(1) { $0.moveCount = 40 }], notice: 1)
        #expect(judge([game(1, inStoneRemoval)], ledger).new.map(\.id) == [1])
    }

    @Test func aGameThatIsGoneLeavesTheLedger() {
        let ledger = TurnLedger().marking([game(1), game(2)], notice: 1)
        #expect(judge([game(2)], ledger).ledger.entries.map(\.turn.game) == [2])
        #expect(judge([], ledger).ledger == TurnLedger())
    }

    @Test func whereAGameWasSkippedNoneLeaves() {
        let ledger = TurnLedger().marking([game(1), game(2)], notice: 1)
        #expect(judge([game(2)], skipped: 1, ledger).ledger == ledger)
    }

    @Test func aLookThatChangesNothingLeavesTheLedgerEqual() {
        let ledger = TurnLedger().marking([game(1), game(2)], notice: 1)
        #expect(judge([game(2), game(1), game(3) { $0.speed = .live }], ledger).ledger == ledger)
    }

    @Test func aGameListedTwiceCountsOnce() {
        let judgement = judge([game(1), game(2), game(1)])
        #expect(judgement.new.map(\.id) == [1, 2])
        #expect(judgement.badge == 2)
    }

    @Test func liveGamesAreNewForWhoAsksForThem() {
        #expect(judge([game(4) { $0.speed = .live }], includingLive: true).new.map(\.id) == [4])
    }

    @Test func aThousandGamesAreJudgedInOGSsOrder() {
        let ids = (1...1000).map { Int64($0 * 7919 % 1009) }
        let ledger = TurnLedger().marking(ids.prefix(500).map { game($0) }, notice: 1)
        let judgement = judge(ids.map { game($0) }, ledger)
        #expect(judgement.new.map(\.id) == Array(ids.suffix(500)))
        #expect(judgement.old.map(\.id) == Array(ids.prefix(500)))
    }
}
