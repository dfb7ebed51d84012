import Foundation
import Testing
import TurnstoneKit

@Suite struct GameLinkTests {
    @Test(
        "a link names its game",
        arguments: [
            "ogs://game/79504463", "OGS://Game/79504463/", "https://online-go.com/game/79504463",
            "https://ONLINE-GO.com/game/79504463/?from=push#24", "ogs://game/79504463?x=1",
            "https://online-go.com:443/game/79504463",
        ])
    func read(text: String) {
        #expect(GameLink(text)?.game == 79_504_463)
    }

    @Test(
        "everything else is no link to a game",
        arguments: [
            "", "ogs", "ogs:", "ogs://", "ogs://game", "ogs://game/", "ogs://game//",
            "ogs://game/0",
            "ogs://game/-1", "ogs://game/+1", "ogs://game/1.5", "ogs://game/1e3", "ogs://game/0x10",
            "ogs://game/١٢", "ogs://game/１２", "ogs://game/%31", "ogs://game/1/2", "ogs://game/a/1",
            "ogs://games/1", "ogs://user@game/1", "ogs://game:1/1", "ogs:game/1", "ogs:///game/1",
            "ogs://game/9223372036854775808", "ogs://game/99999999999999999999999999",
            "http://online-go.com/game/1", "https://online-go.com.evil.example/game/1",
            "https://evil.example/game/1", "https://online-go.com@evil.example/game/1",
            "https://online-go.com:444/game/1", "https://online-go.com/game/1/../../x",
            "https://online-go.com/review/1", "https://online-go.com//game/1",
            "https://online-go.com:/game/1", "https://online-go%2ecom/game/1",
            "https://online-go.com:80/game/1", "javascript://game/1", "file://online-go.com/game/1",
            "//online-go.com/game/1",
        ])
    func refused(text: String) {
        #expect(GameLink(text) == nil)
    }

    @Test func bothFormsAreReadBack() throws {
        var numbers = SystemRandomNumberGenerator()
        for _ in 0..<2000 {
            let game = Int64.random(in: 1...Int64.max, using: &numbers) >> Int64.random(in: 0...62)
            guard let link = GameLink(game: game) else {
                #expect(game == 0)
                continue
            }
            #expect(GameLink(link.appURL) == link)
            #expect(GameLink(link.webURL()) == link)
            #expect(link.webURL().absoluteString == "https://online-go.com/game/\(game)")
        }
    }

    @Test(arguments: [
        "http://localhost:8081", "http://[::1]:8081", "http://192.168.1.5",
        "https://go.example.org:443/",
        "https://example.org/go", "https://example.org/go/a%20b/",
        "https://example.org//", "https://example.org/a//b", "https://example.org/",
    ])
    func anotherSitesLinksAreReadBack(text: String) throws {
        let site = try #require(URL(string: text))
        let link = try #require(GameLink(game: 7))
        let url = link.webURL(on: site)
        #expect(GameLink(url, on: site) == link)
        #expect(GameLink(url) == nil)
        #expect(GameLink(link.webURL(), on: site) == nil)
        let push = PushNotification(userInfo: [
            "action": "open_game", "web_url": url.absoluteString, "game_id": 7,
        ])
        #expect(push.pageToOpen(on: site) == url)
        #expect(push.pageToOpen() == link.webURL())
    }

    /// Texts near a link: none crashes, and what is read is what a plain reader of the text finds.
    @Test func noTextDoesHarm() {
        let seed = UInt64.random(in: .min ... .max)
        var numbers = Numbers(state: seed)
        let pieces = [
            "ogs", "https", "http", ":", "/", "//", "game", "online-go.com", "evil.example", "@",
            "?", "#", "%",
            "%2F", "..", "1", "79504463", "0", "-", "+", " ", "\u{0}", "é", "１", "\\", "[::1]",
            "8080", "javascript",
        ]
        for _ in 0..<20_000 {
            let text = (0..<Int.random(in: 1...8, using: &numbers))
                .map { _ in pieces.randomElement(using: &numbers) ?? "" }.joined()
            guard let link = GameLink(text) else { continue }
            let plain = /(?i)(ogs:\/\/game\/|https:\/\/online-go\.com\/game\/)([0-9]+)\/?([?#].*)?/
            let match = text.wholeMatch(of: plain)
            #expect(match.map { Int64($0.2) } == link.game, "seed \(seed): \(text)")
        }
    }
}

/// Random numbers that a seed repeats (SplitMix64).
struct Numbers: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
        state &+= 0x9e37_79b9_7f4a_7c15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xbf58_476d_1ce4_e5b9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94d0_49bb_1331_11eb
        return mixed ^ (mixed >> 31)
    }
}
