import JSON
import OGS
import Testing
import Turnstone

/// Each kind of game that OGS has, from its answer to the judgement.
@Suite struct KindsOfGamesTests {
    private func judge(_ change: Change, _ player: PlayerID = me) throws -> TurnRule.Judgement {
        let found = try #require(ActiveGames(answer: answer([game(1, change.make)])))
        return TurnRule.judge(found, ledger: TurnLedger(), player: player, includingLive: false)
    }

    private static let stoneRemoval = Change("stone removal") { game in
        game["json.phase"] = "stone removal"
        game["json.clock.stone_removal_mode"] = true
        game["json.clock.stone_removal_expiration"] = 1_700_086_900_340
        game["json.clock.pause_delta"] = 0
        game["json.clock.paused_since"] = 1_700_000_500_340
        game["json.pause_control"] = ["stone-removal": true]
        game["json.removed"] = "cahaiaif"
        game["json.auto_scoring_done"] = true
    }

    private static let rengo = Change("rengo") { game in
        game["json.rengo"] = true
        game["json.rengo_teams"] = [
            "black": [["id": 5, "username": "player-5"], ["id": 42, "username": "player-42"]],
            "white": [["id": 7, "username": "player-7"], ["id": 8, "username": "player-8"]],
        ]
        game["json.player_pool"] = [
            "5": ["id": 5], "7": ["id": 7], "8": ["id": 8], "42": ["id": 42],
        ]
        // The list's own players are out of date, and a pause's time is left over.
        game["black"] = person(5)
        game["json.clock.paused_since"] = 1_690_000_000_000
        game["json.clock.now"] = 1_690_000_000_000
        game["json.moves"] = [
            [15, 3, 2140, .null, ["player_update": ["rengo_teams": ["black": [[1]]]]]],
            [3, 15, .number(99.25), .null, ["played_by": 7, "sgf_downloaded_by": [7, 42]]],
        ]
    }

    @Test(
        "it waits for the player",
        arguments: [
            Change("correspondence") { _ in },
            Change("private", { $0["json.private"] = true }),
            Change("handicap, whose stones are moves") {
                $0["json.handicap"] = 4
                $0["json.moves"] = moves(4)
            },
            Change("byo-yomi") {
                $0["json.time_control.system"] = "byoyomi"
                $0["json.clock.black_time"] = [
                    "thinking_time": .number(0.5), "periods": 5, "period_time": 86400,
                ]
            },
            Change("simple time, with bare numbers as clocks") {
                $0["json.time_control"] = [
                    "system": "simple", "speed": "correspondence", "per_move": 172_800,
                ]
                $0["json.clock.black_time"] = 1_700_605_300_340
                $0["json.clock.white_time"] = 10
            },
            Change("no time limit") {
                $0["json.time_control"] = ["system": "none", "speed": "correspondence"]
                $0["json.clock.black_time"] = nil
                $0["json.clock.white_time"] = nil
                $0["json.clock.expiration"] = nil
                $0["time_per_move"] = 0
            },
            rengo, stoneRemoval,
            Change("stone removal, the opponent accepted") {
                stoneRemoval.make(&$0)
                $0["json.players.white.accepted_stones"] = "cahaiaif"
            },
            Change("a game of a tournament") {
                $0["json.tournament_id"] = 98765
                $0["json.group_ids"] = [1, "two"]
                $0["json.ranked"] = 1
            },
            Change("pauses that are over", { $0["json.paused_since"] = 1_699_000_000_000 }),
            Change("json.pause_control", nil), Change("json.pause_control", .null),
        ])
    func waits(change: Change) throws {
        #expect(try judge(change).new.map(\.id) == [1])
    }

    @Test(
        "no notice should be sent for it",
        arguments: [
            Change("json.time_control.speed", "live"), Change("json.time_control.speed", "blitz"),
            Change("json.time_control.speed", "rapid"),
            Change("live by its time per move") {
                $0["json.time_control"] = .null
                $0["time_per_move"] = .number(35.5)
            },
            Change("json.pause_control", ["vacation-42": true]),
            Change("json.pause_control", ["vacation-7": true]),
            Change("json.pause_control", ["weekend": true]),
            Change("json.pause_control", ["system": true]),
            Change("json.pause_control", ["paused": ["pausing_player_id": 7, "pauses_left": 4]]),
            Change("json.pause_control", ["moderator_paused": ["moderator_id": 3]]),
            Change("stone removal on vacation") {
                stoneRemoval.make(&$0)
                $0["json.pause_control"] = ["stone-removal": true, "vacation-42": true]
            },
        ])
    func held(change: Change) throws {
        #expect(try judge(change).held.map(\.id) == [1])
    }

    @Test(
        "it waits for somebody else or nobody",
        arguments: [
            Change("json.clock.current_player", 7),
            Change("json.clock.current_player", .null), Change("json.clock", .null),
            Change("json.clock", nil),
            Change("finished") {
                $0["json.phase"] = "finished"
                $0["json.outcome"] = "Resignation"
                $0["json.winner"] = 7
                $0["json.end_time"] = 1_700_000_600
            },
            Change("json.phase", "a new one"),
            Change("rengo, the partner's move") {
                rengo.make(&$0)
                $0["json.clock.current_player"] = 5
            },
            Change("stone removal, I accepted") {
                stoneRemoval.make(&$0)
                $0["json.players.black.accepted_stones"] = "cahaiaif"
            },
        ])
    func elsewhere(change: Change) throws {
        #expect(try judge(change).elsewhere.map(\.id) == [1])
    }

    @Test func inStoneRemovalBothPlayersAreTold() throws {
        #expect(try judge(Self.stoneRemoval).new.count == 1)
        #expect(try judge(Self.stoneRemoval, PlayerID(number: opponent)!).new.count == 1)
        #expect(try judge(Self.stoneRemoval, PlayerID(number: 99)!).new.isEmpty)
    }

    @Test func inRengoStoneRemovalWholeTeamsAreTold() throws {
        let change = Change("rengo in stone removal") {
            Self.rengo.make(&$0)
            Self.stoneRemoval.make(&$0)
        }
        for player in [5, 42, 7, 8] {
            #expect(try judge(change, PlayerID(number: Int64(player))!).new.count == 1)
        }
    }

    @Test func theMembersMeanWhatOGSDeclares() throws {
        let game = try scanned(Self.stoneRemoval.make)
        var expected = Game(id: 1)
        expected.name = "Game 1"
        expected.phase = .stoneRemoval
        expected.currentPlayer = 42
        expected.moveCount = 37
        expected.lastMove = Timestamp(milliseconds: 1_700_000_500_340)
        expected.expiration = Timestamp(milliseconds: 1_700_605_300_340)
        expected.stoneRemovalExpiration = Timestamp(milliseconds: 1_700_086_900_340)
        expected.pauseKeys = ["stone-removal"]
        expected.speed = .correspondence
        expected.secondsPerMove = 89280
        expected.removedStones = "cahaiaif"
        expected.black.id = 42
        expected.black.name = "player-42"
        expected.white.id = 7
        expected.white.name = "player-7"
        #expect(game == expected)
    }

    @Test func inRengoTheGameDataKnowsThePair() throws {
        let game = try scanned(Self.rengo.make)
        #expect(game.black.id == 42)
        #expect(game.black.name == "player-42")
        #expect(game.black.team == [5, 42])
        #expect(game.white.team == [7, 8])
        #expect(game.moveCount == 2)
    }
}
