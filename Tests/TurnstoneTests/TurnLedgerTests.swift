import JSON
import Testing
import Turnstone

@Suite struct TurnLedgerTests {
    private let games = [game(30), game(10), game(20)]

    @Test func aMarkedTurnIsHeldWithItsNotice() {
        let ledger = TurnLedger().marking(games, notice: 5)
        for game in games {
            #expect(ledger.holds(Turn(game)))
            #expect(ledger[game.id]?.notice == 5)
        }
        #expect(ledger.entries.map(\.turn.game) == [10, 20, 30])
        #expect(ledger[15] == nil)
        #expect(!ledger.holds(Turn(game(15))))
    }

    @Test func aLaterTurnReplacesTheEarlierOne() {
        var ledger = TurnLedger().marking(games, notice: 5)
        let moved = game(20) { $0.moveCount = 39 }
        #expect(!ledger.holds(Turn(moved)))
        ledger.mark([moved], notice: 6)
        #expect(ledger.holds(Turn(moved)))
        #expect(!ledger.holds(Turn(game(20))))
        #expect(ledger.entries.count == 3)
        #expect(ledger[20]?.notice == 6)
    }

    @Test func onlyTheKeptGamesStay() {
        let ledger = TurnLedger().marking(games, notice: 5).filtered { $0 != 20 }
        #expect(ledger.entries.map(\.turn.game) == [10, 30])
    }

    @Test func theDocumentKeepsEverything() throws {
        var ledger = TurnLedger().marking(games, notice: 5)
        ledger.mark([game(1, inStoneRemoval), game(2) { $0.moveCount = nil }], notice: 6)
        ledger.mark(
            [
                game(3) {
                    $0.moveCount = nil
                    $0.lastMove = nil
                }
            ], notice: Int64.max)
        let text = JSON.text(ledger.json)
        #expect(TurnLedger(try JSON.parse(text)) == ledger)
    }

    @Test func theDocumentHasTheMembersThatAreKnown() {
        let ledger = TurnLedger().marking([game(1, inStoneRemoval)], notice: 6)
        #expect(
            ledger.json == [
                [
                    "game": 1, "phase": "stone removal", "moves": 40,
                    "last_move": JSONValue(noon - .hours(1)), "notice": 6,
                ]
            ])
    }

    @Test(
        "half a ledger is refused",
        arguments: [
            "{}", "null", "[1]", #"[{"game":"1","phase":"play","notice":1}]"#,
            #"[{"game":1,"notice":1}]"#, #"[{"game":1,"phase":"play"}]"#,
        ])
    func halfALedger(text: String) throws {
        #expect(TurnLedger(try JSON.parse(Array(text.utf8))) == nil)
    }
}
