import JSON
import Testing
import Turnstone

@Suite struct NumberTests {
    @Test(
        "a number goes out digit for digit as it came in",
        arguments: [
            "19.99", "1.0", "1.00", "1e3", "1E+2", "1e-2", "-0.0", "-0", "0", "0.0", "0e0",
            "1e-400", "5", "-7",
            "9007199254740993.0", "123456789012345678901234567890.5", "3.141592653589793238462643",
            "[1,2.50,3,-0,0,\"4.5\",0.10]",
            #"{"1.5":"a\"2.5\\","b":[{"c":-1.0E-07}],"d":true,"e":1.10}"#,
            #"["\\",1.0,"\\\"-1.5",{"é3.0":2.0},false,null,0,-0.00]"#,
        ])
    func roundTrip(text: String) throws {
        let value = try JSON.parse(Array(text.utf8))
        #expect(String(decoding: JSON.text(value), as: UTF8.self) == text)
    }

    @Test("blanks around numbers are not taken for part of them")
    func blanks() throws {
        let value = try JSON.parse(Array(" [ 1.50 ,\n2.0\t, { \"a\" : 3.0 } ] ".utf8))
        #expect(String(decoding: JSON.text(value), as: UTF8.self) == #"[1.50,2.0,{"a":3.0}]"#)
    }

    @Test("a whole number is one however it is written, and 1.0 is not taken for 1.00")
    func values() throws {
        for text in ["5", "5.0", "50e-1", "0.5E1"] {
            #expect(try JSON.parse(Array(text.utf8)).integer == 5)
        }
        #expect(try JSON.parse(Array("5.5".utf8)).integer == nil)
        #expect(try JSON.parse(Array("1.0".utf8)) != JSON.parse(Array("1.00".utf8)))
        #expect(try JSON.parse(Array("-0".utf8)).integer == 0)
    }

    @Test(
        "the first two numbers of an array are read at once if they are small",
        arguments: [
            ("[3,15]", [3, 15]), ("[3,15,1234.5,null]", [3, 15]), ("[-1,-1,0]", [-1, -1]),
            ("[18,9999,1]", [18, 9999]),
        ])
    func pairs(text: String, pair: [Int64]) throws {
        var scanner = JSONScanner(Array("\(text)\n".utf8))
        let found = scanner.smallPair().map { [$0.0, $0.1] }
        let isAtEnd = scanner.isAtEnd()
        #expect(found == pair)
        #expect(isAtEnd)
        var numbers: [Int64?] = []
        var slow = JSONScanner(Array(text.utf8))
        try slow.forEachElement { (scanner) throws(JSONScanner.Malformed) in
            numbers.append(try scanner.integer())
        }
        #expect(Array(numbers.prefix(2)) == pair.map(Optional.some))
    }

    @Test(
        "where the first two elements are anything else, nothing is consumed",
        arguments: [
            "[3]", "[]", "[3,]", "[3,15.5]", "[3,15e1,2]", "[3,12345]", "[3,15,[1]]", "[3,15,{}]",
            #"[3,15,"]"]"#, "[3, 15]", #"["3",15]"#, "[null,1]", "[-,1]", "[3,15", "{}", "7", "",
        ])
    func noPairs(text: String) {
        var scanner = JSONScanner(Array(text.utf8))
        let pair = scanner.smallPair()
        #expect(pair == nil)
        var fresh = JSONScanner(Array(text.utf8))
        let (after, alone) = (try? scanner.count(), try? fresh.count())
        #expect(after == alone)
    }

    @Test("a NUL is written so that it can be read", arguments: ["\0", "a\0b", "\0\0\""])
    func nul(text: String) throws {
        let value: JSONValue = [.string(text), .object([text: 1])]
        let read = try JSON.parse(JSON.text(value))
        let plain = String(text.map { $0 == "\0" ? "\u{fffd}" : $0 })
        #expect(read == [.string(plain), .object([plain: 1])])
    }
}
