import Testing
import Turnstone

@Suite struct GameTests {
    @Test(
        "a game that waits for the player",
        arguments: [
            Change("in play, my move") { _ in },
            Change("without a speed, by its time per move") { $0.speed = nil },
            Change("without speed and time per move") {
                $0.speed = nil
                $0.secondsPerMove = nil
            },
            Change("without time limit") {
                $0.speed = nil
                $0.secondsPerMove = 0
            },
            Change("of an unknown speed with days a move") { $0.speed = .other("glacial") },
            Change("without players") {
                $0.black = Game.Seat()
                $0.white = Game.Seat()
            },
            Change("in stone removal, nobody accepted", inStoneRemoval),
            Change("in stone removal, the opponent accepted") {
                inStoneRemoval(&$0)
                $0.white.acceptedStones = $0.removedStones
            },
            Change("in stone removal, I accepted other stones") {
                inStoneRemoval(&$0)
                $0.black.acceptedStones = "aabb"
            },
            Change("in stone removal, the clock names the opponent") {
                inStoneRemoval(&$0)
                $0.currentPlayer = opponent
            },
            Change("in stone removal, I am white") {
                inStoneRemoval(&$0)
                swap(&$0.black, &$0.white)
            },
            Change("rengo, my turn in the team") {
                $0.black.team = [5, 42]
                $0.white.team = [7, 8]
            },
            Change("rengo in stone removal, a team mate sits at the board") {
                inStoneRemoval(&$0)
                $0.black.id = 5
                $0.black.team = [5, 42]
            },
        ])
    func waiting(change: Change) {
        let game = game(1, change.make)
        #expect(game.isTurn(of: me))
        #expect(game.waits(for: me, includingLive: false))
    }

    @Test(
        "a game that is the player's turn but needs no notice",
        arguments: [
            Change("paused by my vacation") { $0.pauseKeys = ["vacation-42"] },
            Change("paused by the opponent's vacation") { $0.pauseKeys = ["vacation-7"] },
            Change("paused by the weekend") { $0.pauseKeys = ["weekend"] },
            Change("paused by a player") { $0.pauseKeys = ["paused"] },
            Change("paused by a moderator and the weekend") {
                $0.pauseKeys = ["weekend", "moderator_paused"]
            },
            Change("in play, with a pause of stone removal left over") {
                $0.pauseKeys = ["stone-removal"]
            },
            Change("in stone removal on vacation") {
                inStoneRemoval(&$0)
                $0.pauseKeys = ["stone-removal", "vacation-42"]
            },
            Change("live") { $0.speed = .live },
            Change("rapid") { $0.speed = .rapid },
            Change("blitz") { $0.speed = .blitz },
            Change("live by its speed whatever the time per move") { $0.speed = .live },
            Change("without a speed, an hour per move") {
                $0.speed = nil
                $0.secondsPerMove = 3600
            },
        ])
    func held(change: Change) {
        let game = game(1, change.make)
        #expect(game.isTurn(of: me))
        #expect(!game.waits(for: me, includingLive: false))
    }

    @Test(
        "a game that is not the player's turn",
        arguments: [
            Change("the opponent's move") { $0.currentPlayer = opponent },
            Change("without a clock") { $0.currentPlayer = nil },
            Change("finished") { $0.phase = .finished },
            Change("in a phase that nobody knows") { $0.phase = .other("review") },
            Change("rengo, a team mate's move") {
                $0.currentPlayer = 5
                $0.black.team = [5, 42]
            },
            Change("in stone removal, I accepted") {
                inStoneRemoval(&$0)
                $0.black.acceptedStones = $0.removedStones
            },
            Change("in stone removal, I accepted the stones in another order") {
                inStoneRemoval(&$0)
                $0.black.acceptedStones = "ccaabb"
            },
            Change("in stone removal, I accepted that none is dead") {
                inStoneRemoval(&$0)
                $0.removedStones = nil
                $0.black.acceptedStones = ""
            },
            Change("in stone removal between others") {
                inStoneRemoval(&$0)
                $0.black.id = 5
            },
            Change("rengo in stone removal, the team accepted") {
                inStoneRemoval(&$0)
                $0.black.id = 5
                $0.black.team = [5, 42]
                $0.black.acceptedStones = $0.removedStones
            },
        ])
    func elsewhere(change: Change) {
        let game = game(1, change.make)
        #expect(!game.isTurn(of: me))
        #expect(!game.waits(for: me, includingLive: true))
    }

    @Test func aLiveGameWaitsForWhoAsksForLiveGames() {
        #expect(game(1) { $0.speed = .blitz }.waits(for: me, includingLive: true))
        #expect(
            !game(1) {
                $0.speed = .blitz
                $0.pauseKeys = ["paused"]
            }.waits(for: me, includingLive: true))
    }

    @Test func bothPlayersAreWaitedForInStoneRemoval() {
        let game = game(1, inStoneRemoval)
        #expect(game.waits(for: me, includingLive: false))
        #expect(game.waits(for: PlayerID(number: opponent)!, includingLive: false))
        #expect(!game.waits(for: PlayerID(number: 99)!, includingLive: false))
    }

    @Test func theOpponentIsTheOtherSidesPlayer() {
        #expect(game(1).opponent(of: me) == "player-7")
        #expect(game(1).opponent(of: PlayerID(number: opponent)!) == "player-42")
        #expect(game(1).opponent(of: PlayerID(number: 99)!) == nil)
        #expect(game(1) { $0.white.name = "" }.opponent(of: me) == nil)
        let rengo = game(1) {
            $0.black.id = 5
            $0.black.team = [5, 42]
        }
        #expect(rengo.opponent(of: me) == "player-7")
    }
}
