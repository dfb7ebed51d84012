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
