import JSON
import OGS
import Testing
import Turnstone

/// Mistakes that OGS or a proxy may make, and those that are tolerated.
@Suite struct ToleranceTests {
    @Test(
        "a number's form does not matter",
        arguments: [
            (.integer(1_758_474_319_701), 1_758_474_319_701),
            (.number(1_758_474_319_701.5), 1_758_474_319_701),
            (.number(1.758474319701e12), 1_758_474_319_701),
            (.string("1758474319701"), 1_758_474_319_701),
            (.integer(-5), -5), (.number(1e300), nil), (.null, nil), ("soon", nil), (true, nil),
            ([1], nil), (["a": 1], nil), ("", nil),
        ] as [(JSONValue, Int64?)])
    func numbers(value: JSONValue, milliseconds: Int64?) throws {
        let game = try scanned {
            $0["json.clock.last_move"] = value
            $0["json.clock.expiration"] = value
        }
        #expect(game.lastMove?.milliseconds == milliseconds)
        #expect(game.expiration?.milliseconds == milliseconds)
    }

    @Test(
        "missing or null values are unknown, and the turn is still seen",
        arguments: [
            "name", "width", "black", "white", "time_per_move", "json.game_id", "json.game_name",
            "json.players", "json.players.black", "json.players.white.username", "json.moves",
            "json.time_control", "json.time_control.speed", "json.black_player_id",
            "json.clock.last_move", "json.clock.expiration", "json.clock.black_time",
            "json.pause_control", "json.initial_state", "json.group_ids",
        ], [nil, .null] as [JSONValue?])
    func missing(path: String, value: JSONValue?) throws {
        let game = try scanned { $0[path] = value }
        #expect(game.waits(for: me, includingLive: false))
    }

    @Test func theNameInTheGameDataServesWhereTheOuterOneIsMissing() throws {
        #expect(try scanned { $0["name"] = nil }.name == "Inner name")
        #expect(try scanned { $0["name"] = "" }.name == "")
    }

    @Test func playersMayBeBareNumbers() throws {
        let game = try scanned {
            $0["black"] = 42
            $0["white"] = 7
            $0["json.players"] = nil
            $0["json.black_player_id"] = nil
        }
        #expect(game.black.id == 42)
        #expect(game.white.id == 7)
        #expect(game.black.name == nil)
    }

    @Test(
        "a move list's length is known, whatever the moves are",
        arguments: [
            ("[]", 0), ("[ ]", 0), ("[[1,2,3]]", 1), ("[[-1,-1,4.5],[1,2]]", 2),
            (#"[[1,2,3,null,{"a":"]]","b":[[],[[]]]}] , [ ] ]"#, 2), (#"["aa","bb","cc"]"#, 3),
            (#"[{"x":1},{"x":2}]"#, 2), ("null", nil), (#""aabb""#, nil), ("{}", nil), ("7", nil),
        ])
    func moveCount(text: String, count: Int?) throws {
        let game = game(1) { $0["json.moves"] = "HERE" }
        let whole = String(decoding: answer([game]), as: UTF8.self)
        let parts = whole.split(separator: #""HERE""#)
        let found = ActiveGames(answer: Array("\(parts[0])\(text)\(parts[1])".utf8))
        #expect(found?.games.first?.moveCount == count)
        #expect(found?.games.first?.waits(for: me, includingLive: false) == true)
    }

    @Test(
        "an odd game is skipped and counted, and the others are found",
        arguments: [
            .null, 7, "game", [1, 2], true, [:], ["id": .null],
            ["id": "abc", "json": ["phase": "play"]],
            ["id": 0, "json": ["phase": "play"]], ["id": -4, "json": ["phase": "play"]],
            ["id": [1], "json": ["phase": "play"]], ["id": 5], ["id": 5, "json": .null],
            ["id": 5, "json": "text"], ["id": 5, "json": ["phase": 7]],
        ] as [JSONValue])
    func odd(odd: JSONValue) throws {
        for place in 0...2 {
            var games = [game(1), game(2)]
            games.insert(odd, at: place)
            let found = try #require(ActiveGames(answer: answer(games)))
            #expect(found.games.map(\.id) == [1, 2])
            #expect(found.skipped == 1)
        }
    }

    @Test(
        "a name arrives as it was meant",
        arguments: [
            (#"plain"#, "plain"), (#""#, ""), (#"a\"b\\c\/d"#, "a\"b\\c/d"),
            (#"\b\f\n\r\t"#, "\u{8}\u{c}\n\r\t"), (#"caf\u00e9 \u56f2\u7881"#, "café 囲碁"),
            (#"\ud83d\ude00!"#, "😀!"), (#"a\ud83dz"#, "a\u{FFFD}z"), (#"\ude00"#, "\u{FFFD}"),
            (#"\ud83d\ud83d\ude00"#, "\u{FFFD}😀"), (#"\u0000x"#, "\u{FFFD}x"), ("囲碁 ⚫️", "囲碁 ⚫️"),
            (#"]}],\"{["#, #"]}],"{["#),
        ])
    func names(written: String, name: String) throws {
        let whole = String(decoding: answer([game(1) { $0["name"] = "HERE" }]), as: UTF8.self)
        let parts = whole.split(separator: "HERE")
        let found = ActiveGames(answer: Array("\(parts[0])\(written)\(parts[1])".utf8))
        #expect(found?.games.first?.name == name)
    }

    @Test func aNameThatIsNoUTF8IsMended() throws {
        var body = answer([game(1) { $0["name"] = "a~b" }])
        for place in body.indices where body[place] == UInt8(ascii: "~") { body[place] = 0xff }
        #expect(ActiveGames(answer: body)?.games.first?.name == "a\u{FFFD}b")
    }

    @Test func whiteSpaceAndOrderDoNotMatter() throws {
        let spread = """
             {\r\n\t"active_games" : [ { "json" : { "clock" : { "current_player" : 42 } , "phase" :
             "play" , "moves" : [ [ 1 , 2 , 3 ] , [ 4 , 5 , 6 ] ] } , "id" : 9 } ] , "user" : null }\n
            """
        let found = try #require(ActiveGames(answer: Array(spread.utf8)))
        #expect(found.games.map(\.id) == [9])
        #expect(found.games[0].moveCount == 2)
        #expect(found.games[0].isTurn(of: me))
    }

    @Test func membersOfTheSameNameElsewhereDoNotMatter() throws {
        let found = try #require(
            ActiveGames(
                answer: Array(
                    #"{"user":{"active_games":[{"id":1}]},"active_games":[],"x":[{"active_games":7}]}"#
                        .utf8)))
        #expect(found == ActiveGames())
    }

    @Test(
        "this is an outage and not a player without games",
        arguments: [
            "", " ", "null", "[]", "7", "\"active_games\"", "{}", "{\"active_games\":null}",
            "{\"active_games\":{}}", "{\"active_games\":\"[]\"}", "{\"active_games\":[]",
            "{\"active_games\":[}",
            "{\"active_games\":[]]", "{\"active_games\":[]}}", "{\"active_games\":[]} x",
            "{\"active_games\":[]}{\"active_games\":[]}", "{\"active_games\":[{]}}",
            "{\"active_games\":[,]}", "{\"active_games\" []}", "{active_games:[]}",
            "<!DOCTYPE html><html><body>502 Bad Gateway</body></html>", "\u{FEFF}<html>",
            "{\"detail\": \"Not found.\"}", "Too many requests", "{\"active_games\":[]\u{0}}",
        ])
    func outage(text: String) {
        #expect(ActiveGames(answer: Array(text.utf8)) == nil)
    }

    @Test func noGamesIsAnAnswer() {
        #expect(ActiveGames(answer: answer([])) == ActiveGames())
    }
}
