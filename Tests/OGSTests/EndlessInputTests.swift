import Foundation
import JSON
import OGS
import TestSupport
import Testing
import Turnstone

/// Answers that are large, cut, damaged or malicious.
@Suite struct EndlessInputTests {
    @Test func anAnswerCutAnywhereIsAnOutage() {
        let body = answer([game(1, short), game(2, short)])
        for count in body.indices {
            #expect(ActiveGames(answer: Array(body[..<count])) == nil, "cut after \(count) bytes")
        }
    }

    @Test func hundredsOfGamesInMegabytesAreAllFound() throws {
        let games = (1...500).map { id in
            game(Int64(id)) {
                $0["json.moves"] = moves(280)
                $0["json.clock.current_player"] = .integer(id % 2 == 0 ? 42 : 7)
            }
        }
        let body = answer(games)
        #expect(body.count > 2_000_000)
        let found = try #require(ActiveGames(answer: body))
        #expect(found.games.map(\.id) == (1...500).map { Int64($0) })
        #expect(found.games.allSatisfy { $0.moveCount == 280 })
        let judgement = TurnRule.judge(
            found, ledger: TurnLedger(), player: me, includingLive: false)
        #expect(judgement.badge == 250)
    }

    @Test(
        "damage anywhere ends in games or an outage, never in a crash",
        arguments: 0..<8)
    func damage(seed: Int) throws {
        let body = answer([game(1, short), game(2, short)])
        var random = Seeded(seed: UInt64(seed))
        for _ in 0..<300 {
            var damaged = body
            for _ in 0...random.one(in: 4) {
                let place = random.one(in: damaged.count)
                switch random.one(in: 4) {
                case 0: damaged[place] = UInt8(random.one(in: 256))
                case 1: damaged.remove(at: place)
                case 2: damaged.insert(interesting[random.one(in: interesting.count)], at: place)
                default: damaged[place] = interesting[random.one(in: interesting.count)]
                }
            }
            if let found = ActiveGames(answer: damaged) {
                #expect(found.games.count + found.skipped < 10)
                #expect(found.games.allSatisfy { $0.id > 0 })
            }
        }
    }

    @Test func nestingHasALimit() {
        for open in ["[", "{\"a\":"] {
            let deep = String(repeating: open, count: 1_000_000)
            #expect(ActiveGames(answer: Array("{\"active_games\":\(deep)".utf8)) == nil)
            #expect(ActiveGames(answer: Array("{\"x\":\(deep)".utf8)) == nil)
        }
        let nested = String(repeating: "[", count: 60) + String(repeating: "]", count: 60)
        #expect(
            ActiveGames(answer: Array("{\"x\":\(nested),\"active_games\":[]}".utf8))
                == ActiveGames())
    }

    @Test(
        "the standard's cases are stepped over or refused, never a crash",
        .enabled(if: vectors != nil))
    func standardCases() throws {
        let folder = try #require(vectors) + "/json-test-suite/test_parsing"
        let names = try FileManager.default.contentsOfDirectory(atPath: folder)
        #expect(names.count > 300)
        for name in names {
            let text = try [UInt8](Data(contentsOf: URL(fileURLWithPath: "\(folder)/\(name)")))
            _ = ActiveGames(answer: text)
            let within = Array("{\"x\":".utf8) + text + Array(",\"active_games\":[]}".utf8)
            let found = ActiveGames(answer: within)
            if name.hasPrefix("y_") { #expect(found == ActiveGames(), "\(name)") }
            _ = ActiveGames(answer: Array("{\"active_games\":[".utf8) + text + Array("]}".utf8))
        }
    }
}

/// A game with few moves and a name that is hard to read.
private func short(_ game: inout JSONValue) {
    game["name"] = "囲碁 \"]}\\ 😀"
    game["json.moves"] = moves(3)
}

private let interesting =
    Array("{}[]\":,\\ueE+-.0123456789tfn \n\0".utf8) + [0x7f, 0x80, 0xc0, 0xff]

/// The folder of published test vectors, where somebody has it.
private var vectors: String? { ProcessInfo.processInfo.environment["TURNSTONE_VECTORS"] }
