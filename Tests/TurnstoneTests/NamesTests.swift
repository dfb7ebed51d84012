import Testing
import Turnstone

/// Outside text that becomes a type: tokens, numbers, ids.
@Suite struct NamesTests {
    @Test(
        "a device token is hex of even length",
        arguments: [
            ("ab", "ab"), ("AB", "ab"), ("0123456789abcdefABCDEF", "0123456789abcdefabcdef"),
            (String(repeating: "F", count: 512), String(repeating: "f", count: 512)), ("", nil),
            ("a", nil), ("abc", nil), (String(repeating: "a", count: 514), nil), ("zz", nil),
            (" ab", nil),
            ("ab\n", nil), ("a b ", nil), ("0x", nil), ("ａb", nil), ("éé", nil), ("a\0", nil),
        ] as [(String, String?)])
    func deviceToken(text: String, hex: String?) {
        #expect(DeviceToken(text)?.text == hex)
    }

    @Test(
        "a channel's id is base64 of either alphabet, with or without its padding",
        arguments: [
            ("++//AAAB/w==", "++//AAAB/w=="), ("--__AAAB_w", "++//AAAB/w=="),
            ("--__AAAB_w==", "++//AAAB/w=="), ("AAAA", "AAAA"), ("AAA=", "AAA="), ("AAA", "AAA="),
            (String(repeating: "A", count: 256), String(repeating: "A", count: 256)), ("", nil),
            ("=", nil), ("==", nil), ("A", nil), ("AAAAA", nil), ("AAA==", nil), ("AA=", nil),
            ("AAAA=", nil), ("A=AA", nil), ("AA AA", nil), ("..", nil), ("AAé", nil), ("AAA%", nil),
            (String(repeating: "A", count: 257), nil),
        ] as [(String, String?)])
    func channelID(text: String, expected: String?) {
        #expect(ChannelID(text)?.text == expected)
    }

    @Test("a device token shows its first digits only")
    func tokensAreKept() throws {
        let token = try #require(DeviceToken(String(repeating: "0123456789abcdef", count: 4)))
        #expect("\(token)" == "01234567…")
        #expect(token.preview == "0123456789abcdef...")
    }

    @Test(
        "a player's number is positive, without sign or leading zeros",
        arguments: [
            ("1", 1), ("1783478", 1_783_478), ("9223372036854775807", .max), ("0", nil), ("", nil),
            ("01", nil), ("+1", nil), ("-1", nil), ("1.0", nil), ("1e3", nil), (" 1", nil),
            ("1 ", nil),
            ("９", nil), ("٣", nil), ("9223372036854775808", nil), ("11111111111111111111", nil),
        ] as [(String, Int64?)])
    func player(text: String, number: Int64?) {
        #expect(PlayerID(text)?.number == number)
        if let number {
            #expect(PlayerID(text)?.description == text && PlayerID(number: number) != nil)
        }
    }

    @Test("no number below 1 is a player's", arguments: [0, -1, .min] as [Int64])
    func noPlayer(number: Int64) {
        #expect(PlayerID(number: number) == nil)
    }

    @Test(
        "a user has a file name that leads nowhere else",
        arguments: [
            ("1783478", "1783478"), ("aZ09-_", "aZ09-_"), ("...", "=2e=2e=2e"),
            ("../etc", "=2e=2e=2fetc"),
            ("a=b", "a=3db"), ("a b", "a=20b"), ("é", "=c3=a9"), ("a\u{1}b", "a=01b"),
            ("a.lock", "a=2elock"),
        ])
    func fileName(user: String, name: String) {
        #expect(UserID(user)?.fileName == name)
    }

    @Test("a user's id has 1 to 128 bytes, so that its file name has at most 255 where it is plain")
    func userLength() {
        #expect(UserID("") == nil)
        #expect(UserID(String(repeating: "a", count: 128)) != nil)
        #expect(UserID(String(repeating: "a", count: 129)) == nil)
        #expect(UserID(String(repeating: "é", count: 65)) == nil)
    }

    @Test("only a player's number makes a user a player")
    func userAndPlayer() throws {
        #expect(try #require(UserID("42")).player == PlayerID(number: 42))
        #expect(try #require(UserID("042")).player == nil)
        #expect(try UserID(#require(PlayerID("42"))).text == "42")
    }
}
