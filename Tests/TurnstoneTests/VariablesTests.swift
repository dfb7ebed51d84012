import Testing
import Turnstone

/// The syntax is systemd's (systemd.exec(5), EnvironmentFile=).
@Suite struct VariablesTests {
    @Test(
        "a line of the configuration file gives a value",
        arguments: [
            ("A=1", "1"), ("A=", ""), ("A=a b", "a b"), ("A = 1", "1"), ("  A=1  ", "1"),
            ("A=1\r\n", "1"), ("A=\"a b \"", "a b "), ("A='a b '", "a b "), ("A=\"it's\"", "it's"),
            ("A='say \"x\"'", "say \"x\""), ("A=a#b", "a#b"), ("A=a;b", "a;b"), ("A=x=y=", "x=y="),
            ("A=\"a\nb\"", "a\nb"), ("A='a\nb'", "a\nb"), ("A=a\\\nb", "ab"),
            ("A=\"a\\\nb\"", "ab"),
            ("A='a\\nb'", "a\\nb"), ("A=\"a\\\"b\"", "a\"b"), ("A=\"a\\nb\"", "a\\nb"),
            ("A=\"\\$x\\`\\\\\"", "$x`\\"), ("A=a\\ b", "a b"), ("A=\"a\"b'c'", "abc"),
            ("A=\"open", "open"), ("A=last", "last"), ("\n\n\nA=1", "1"), ("# A=2\nA=1", "1"),
            ("; A=2\nA=1", "1"), ("  # A=2\nA=1", "1"), ("no equals\nA=1", "1"), ("A=1\nA=2", "2"),
            ("A=é😀", "é😀"),
        ])
    func value(file: String, expected: String) {
        var variables = Variables()
        variables.offer(environmentFile: file)
        #expect(variables["A"] == expected)
    }

    @Test(
        "a file of nothing but comments gives no value",
        arguments: ["", "\n", "#A=1", ";A=1", "A", "=A"])
    func none(file: String) {
        var variables = Variables()
        variables.offer(environmentFile: file)
        #expect(variables["A"] == nil)
    }

    @Test("the environment comes before the file, even where it is empty")
    func precedence() {
        var variables = Variables()
        variables.offer("A", "")
        variables.offer(environmentFile: "A=file\nB=file")
        #expect(variables["A"] == "")
        #expect(variables.text("A") == nil)
        #expect(variables.text("B") == "file")
    }

    @Test(
        "a number within its range is taken",
        arguments: [
            (nil, 30), ("", 30), ("1", 1), ("3600", 3600), ("0", nil), ("3601", nil), ("-1", nil),
            ("1.5", nil), ("30s", nil), (" 30", nil), ("99999999999999999999", nil),
        ] as [(String?, Int?)])
    func number(text: String?, expected: Int?) throws {
        var variables = Variables()
        variables.file = "/etc/x.env"
        if let text { variables.offer("A", text) }
        guard let expected else {
            let sentence =
                "unable to use A (environment): must be a whole number from 1 to 3600"
            #expect(throws: Failure.misconfigured(sentence)) {
                try variables.number("A", standard: 30, in: 1...3600)
            }
            return
        }
        #expect(try variables.number("A", standard: 30, in: 1...3600) == expected)
    }

    @Test(
        "a value that may be a path is taken as it is",
        arguments: [
            nil, "/etc/turnstone/AuthKey_ABCDE12345.p8", "key.pem", "a folder/ä.json", "-",
            "%d/fcm.json", "/\(name(255))/b", String(repeating: "abc/", count: 1023),
        ] as [String?])
    func path(text: String?) throws {
        var variables = Variables()
        if let text { variables.offer("A_PATH", text) }
        #expect(try variables.path("A_PATH") == text)
    }

    /// A secret, as a sentence would show it.
    private static let secret = "TUlHVEFnRUFNQk1HQnlxR1NNNDlBZ0VHQ0NxR1NNNDlBd0VIQkhrd2R3SUJBUVFn"

    private static func name(_ length: Int) -> String { String(repeating: "n", count: length) }

    @Test(
        "a value that cannot be a path is described and not repeated",
        arguments: [
            ("-----BEGIN PRIVATE KEY-----\n\(secret)\n-----END PRIVATE KEY-----\n", "the key or"),
            ("\n -----BEGIN PRIVATE KEY-----\\n\(secret)", "the key or certificate itself"),
            ("\n{\"private_key\": \"\(secret)\"}", "looks like JSON"),
            ("[{\"private_key\": \"\(secret)\"}]", "looks like JSON"),
            ("\(secret)\n\(secret)", "a line break or another control character"),
            ("\t\(secret)", "control character"), ("\u{7f}\(secret)", "control character"),
            (String(repeating: secret, count: 4), "too long"),
            (String(repeating: "/\(secret)", count: 64), "too long"),
        ])
    func noPath(value: String, words: String) throws {
        var variables = Variables()
        variables.offer("A_PATH", value)
        let failure = try #require(throws: Failure.self) { try variables.path("A_PATH") }
        #expect(failure.disposition == .misconfigured)
        #expect(failure.sentence.hasPrefix("unable to use A_PATH (environment): its value "))
        #expect(failure.sentence.contains(words), "\(failure.sentence)")
        #expect(failure.sentence.hasSuffix("and set A_PATH to the file's path"))
        #expect(!failure.sentence.contains("TUlH"))
    }

    @Test(
        "the name of a file that cannot be read is repeated only if it is plainly a path",
        arguments: [
            ("/etc/turnstone/secrets/apns/production/AuthKey_ABCDE12345.p8", true),
            ("/srv/Bücher/a.b-c_d+e@f", true), ("/", true),
            (secret, false), ("3KzvKasA2SoCxsp0iIG_o9B0Ozvl1XDwI63JRKNIWBM", false),
            ("'\(secret)=='", false), ("\(secret)\\n\(secret)", false), ("/\(secret)", false),
            ("/etc/0123456789abcdef01234567", false),
            (String(repeating: "0123456789abcdef", count: 2), false),
            ("eyJhbGciOiJIUzI1NiJ9.e30.c2VjcmV0", false), ("ya29.sesame", false),
            ("Bearer sesame", false), ("https://user:sesame@example.org/", false),
            ("/etc/turnstone/turnstone.env MASTER_API_KEY=sesame", false),
            ("MASTER_API_KEY=sesame", false), ("# the key: MASTER_API_KEY=sesame", false),
            ("secrets/AuthKey.p8", false), ("AuthKey", false), ("~/AuthKey", false),
        ])
    func key(value: String, isPlain: Bool) throws {
        var variables = Variables()
        variables.offer("A_PATH", value)
        #expect(try variables.path("A_PATH") == value)
        guard !isPlain else { return try variables.checkIsNoKey(value, in: "A_PATH") }
        let failure = try #require(throws: Failure.self) {
            try variables.checkIsNoKey(value, in: "A_PATH")
        }
        #expect(failure.sentence.contains("no file of that name can be read"))
        #expect(!failure.sentence.contains(value))
    }

    @Test("a wrong variable is named with the one place where it is set")
    func place() {
        var variables = Variables()
        variables.file = "/etc/x.env"
        variables.offer("A", "1")
        variables.offer("EMPTY", "")
        variables.offer(environmentFile: "A=2\nB=3\n")
        let sentences = ["A", "B", "C", "EMPTY"].map { variables.wrong($0, "must be x").sentence }
        #expect(
            sentences == [
                "unable to use A (environment): must be x",
                "unable to use B (/etc/x.env): must be x",
                "C is not set (environment or /etc/x.env): must be x",
                "EMPTY is empty (environment or /etc/x.env): must be x",
            ])
    }

    @Test("all malformed lines are named")
    func malformedLines() {
        var variables = Variables()
        variables.file = "/etc/x.env"
        variables.offer(environmentFile: "A=1\nB\n")
        #expect(variables.malformedLine == "/etc/x.env, line 2: neither NAME=value nor a comment")
        variables.offer(environmentFile: "C\nD=1\nE\n")
        #expect(
            variables.malformedLine == "/etc/x.env, lines 2, 1, 3: neither NAME=value nor a comment"
        )
    }

    @Test(
        "a flag is true or false, and nothing in between",
        arguments: [
            (nil, true), ("", true), ("true", true), ("1", true), ("yes", true), ("false", false),
            ("0", false), ("no", false), ("TRUE", nil), ("on", nil),
        ] as [(String?, Bool?)])
    func flag(text: String?, expected: Bool?) throws {
        var variables = Variables()
        if let text { variables.offer("A", text) }
        guard let expected else {
            #expect(
                throws: Failure.misconfigured(
                    "unable to use A (environment): must be true or false")
            ) {
                try variables.flag("A", standard: true)
            }
            return
        }
        #expect(try variables.flag("A", standard: true) == expected)
    }
}
