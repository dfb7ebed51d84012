import JSON
import Testing
import Turnstone

@Suite struct TurnNoticeTests {
    private func notice(
        _ games: [Game], badge: Int = 3, site: SiteAddress = .onlineGo, environment: String? = nil
    ) throws -> TurnNotice {
        try #require(
            TurnNotice(
                new: games, badge: badge, player: me, site: site, environment: environment,
                now: noon))
    }

    @Test func oneGameIsNamedWithItsOpponentAndMove() throws {
        #expect(
            try notice([game(12_345)]).payload.json == [
                "aps": [
                    "alert": [
                        "title": "Your turn in Go!", "subtitle": "player-7 · move 37",
                        "body": "It's your turn in: Game 12345",
                    ],
                    "badge": 3, "sound": "default",
                ],
                "web_url": "https://online-go.com/game/12345",
                "app_url": "ogs://game/12345",
                "game_id": 12345,
                "action": "open_game",
                "game_name": "Game 12345",
            ])
    }

    @Test("a notice is worth delivering as long as a game in it may wait")
    func untimed() throws {
        let soon = game(1) { $0.expiration = noon + .hours(2) }
        let late = game(2) { $0.expiration = noon + .days(3) }
        let untimed = game(3) { $0.expiration = nil }
        #expect(try notice([soon, late]).expiration == noon + .days(3))
        #expect(try notice([soon, untimed]).expiration == noon + .days(30))
        #expect(try notice([untimed, soon]).expiration == noon + .days(30))
    }

    @Test(
        "a game whose name shows nothing is named by its number",
        arguments: [
            "", " ", "\u{200B}", "\u{200B}\u{FEFF} \u{2060}", "\u{3164}", "\u{2800}", "\u{7}\u{AD}",
        ])
    func invisible(name: String) throws {
        let notice = try notice([game(12_345) { $0.name = name }])
        #expect(notice.body == "It's your turn in: game 12345" && notice.gameName == "game 12345")
    }

    @Test func severalGamesAreCountedAndTheNewestIsOpened() throws {
        let games = [
            game(1), game(2) { $0.lastMove = noon - .minutes(1) },
            game(3) { $0.lastMove = nil },
        ]
        #expect(
            try notice(games, badge: 9).payload.json == [
                "aps": [
                    "alert": [
                        "title": "Your turn in Go!", "body": "It's your turn in 3 games",
                    ],
                    "badge": 9, "sound": "default",
                ],
                "web_url": "https://online-go.com/game/2",
                "app_url": "ogs://game/2",
                "game_id": 2,
                "action": "open_game",
                "game_name": "Game 2",
            ])
    }

    @Test(
        "the link leads to the site that is named",
        arguments: [
            ("https://beta.online-go.com", "https://beta.online-go.com/game/1"),
            ("http://127.0.0.1:8080/", "http://127.0.0.1:8080/game/1"),
            ("https://example.org/go", "https://example.org/go/game/1"),
        ])
    func link(site: String, link: String) throws {
        let payload = try notice([game(1)], site: #require(SiteAddress(site))).payload
        #expect(payload["web_url"] == .string(link))
    }

    @Test func noGameIsNoNotice() {
        #expect(
            TurnNotice(new: [], badge: 0, player: me, site: .onlineGo, environment: nil, now: noon)
                == nil)
    }

    @Test(
        "the environment stands before the text",
        arguments: [
            (nil, ""), ("", ""), ("none", ""), ("dev", "[dev] "), ("staging", "[staging] "),
        ]
            as [(String?, String)])
    func environment(name: String?, prefix: String) throws {
        #expect(
            try notice([game(1)], environment: name).body == "\(prefix)It's your turn in: Game 1")
        #expect(
            try notice([game(1), game(2)], environment: name).body
                == "\(prefix)It's your turn in 2 games")
    }

    @Test(
        "the subtitle says what is known",
        arguments: [
            (Change("all") { _ in }, "player-7 · move 37"),
            (Change("stone removal", inStoneRemoval), "player-7 · stone removal"),
            (Change("nothing played") { $0.moveCount = 0 }, "player-7 · first move"),
            (Change("no move list") { $0.moveCount = nil }, "player-7"),
            (Change("no opponent") { $0.white.name = nil }, "move 37"),
            (Change("a blank opponent") { $0.white.name = " \n" }, "move 37"),
            (
                Change("neither") {
                    $0.white.name = nil
                    $0.moveCount = nil
                }, nil
            ),
        ] as [(Change, String?)])
    func subtitle(change: Change, text: String?) throws {
        #expect(try notice([game(1, change.make)]).subtitle == text)
    }

    @Test(
        "a name becomes one line, and never an empty one",
        arguments: [
            ("", "game 5"), (" \t\n", "game 5"), ("\u{1}\u{85}", "game 5"), ("a", "a"),
            (" a\n\tb ", "a b"), ("a\u{0}b", "a b"), ("囲碁 ⚫️⚪️", "囲碁 ⚫️⚪️"),
            (String(repeating: "x", count: 256), String(repeating: "x", count: 256)),
            (String(repeating: "x", count: 257), String(repeating: "x", count: 253) + "…"),
            (String(repeating: "👨‍👩‍👧", count: 20), String(repeating: "👨‍👩‍👧", count: 14) + "…"),
        ])
    func name(name: String, line: String) throws {
        let notice = try notice([game(5) { $0.name = name }])
        #expect(notice.gameName == line)
        #expect(notice.body == "It's your turn in: \(line)")
    }

    @Test(
        "the payload fits whatever the names",
        arguments: ["\"", "\\", "é", "囲", "👨‍👩‍👧", "\u{202E}", "a\u{301}\u{302}"])
    func size(character: String) throws {
        let long = String(repeating: character, count: 100_000)
        let notice = try notice([
            game(.max) {
                $0.name = long
                $0.white.name = long
            }
        ])
        #expect(notice.payload.text.count < 4096)
    }

    @Test(
        "the notice expires with the last of its clocks, an hour to 30 days from now",
        arguments: [
            ([.days(3)], .days(3)), ([.days(3), .days(5)], .days(5)),
            ([.minutes(1)], .hours(1)), ([.days(-9)], .hours(1)), ([.days(90)], .days(30)),
            ([nil], .days(30)), ([nil, .days(2)], .days(30)),
            ([Interval(milliseconds: .max / 2)], .days(30)),
        ] as [([Interval?], Interval)])
    func expiration(clocks: [Interval?], after: Interval) throws {
        let games = clocks.enumerated().map { number, left in
            game(Int64(number + 1)) { $0.expiration = left.map { noon + $0 } }
        }
        #expect(try notice(games).expiration == noon + after)
    }

    @Test func inStoneRemovalTheResultIsAcceptedByItself() throws {
        #expect(try notice([game(1, inStoneRemoval)]).expiration == noon + .hours(20))
    }

    @Test func eachAccountReplacesItsOwnNoticesOnly() throws {
        #expect(try notice([game(1)]).collapseID == notice([game(2), game(3)]).collapseID)
        let other = TurnNotice(
            new: [game(1)], badge: 1, player: PlayerID(number: .max)!, site: .onlineGo,
            environment: nil, now: noon)
        #expect(try other?.collapseID != notice([game(1)]).collapseID)
        #expect((other?.collapseID.utf8.count ?? 0) <= 64)
    }
}
