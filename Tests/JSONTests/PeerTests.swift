import CJansson
import JSON
import TestSupport
import Testing
import Turnstone

/// Compares the reader with jansson, which is strict in the same way.
@Suite struct PeerTests {
    private let texts = [
        #"{"a":1,"b":[true,false,null],"c":{"d":-0.5e+10,"é":"\u00e9\ud83d\ude00\n"},"":"x\"y\\z"}"#,
        #"[0,-0,1.0,-12,1E5,123456789012345678,9223372036854775807,-9223372036854775808,1e308,1e-400]"#,
        #" { "version" : 3 , "devices" : [ { "token" : "aa" , "name" : "é😀" } , { } , [ ] ] } "#,
        #"{"a0":0,"a1":1,"a2":2,"a3":3,"a4":4,"a5":5,"a6":6,"a7":7,"a8":8,"a9":9,"b0":0,"b1":1,"b2":2,"b3":3,"b4":4,"b5":5,"b6":6,"b7":7,"b8":8}"#,
        #""\ud83d\ude00\"\\\/\b\f\n\r\t""#,
    ]
    /// The pieces that a mutation inserts into a text.
    private let pieces: [[UInt8]] = [
        [0x00], [0x0a], [0x1f], [0x22], [0x5c], [0x7f], [0x80], [0xc3], [0xe2, 0x82],
        [0xed, 0xa0, 0x80],
        [0xf4, 0x90, 0x80, 0x80], Array(#"\u0000"#.utf8), Array(#"\ud800"#.utf8),
        Array(#"\udc00"#.utf8),
        Array(#"\u12"#.utf8), Array("{".utf8), Array("}".utf8), Array("[".utf8), Array("]".utf8),
        Array(",".utf8),
        Array(":".utf8), Array("-".utf8), Array("0".utf8), Array("1e999".utf8), Array(".".utf8),
        Array("e".utf8),
        Array("+".utf8), Array("99999999999999999999".utf8), Array("true".utf8), Array("nul".utf8),
        Array(" ".utf8),
        Array(#""a":1,"#.utf8),
    ]

    @Test("a mutated text is taken if jansson takes it, and for the same value")
    func mutated() {
        let seed = UInt64.random(in: 0...UInt64.max)
        var dice = Dice(state: seed)
        var taken = 0
        for round in 0..<200_000 {
            var text = Array(texts[dice.below(texts.count)].utf8)
            for _ in 0..<dice.below(3) { mutate(&text, &dice) }
            let ours = try? JSON.parse(text)
            let theirs = value(text)
            if ours != nil { taken += 1 }
            guard ours != theirs else { continue }
            Issue.record(
                "seed \(seed), round \(round): \(String(decoding: text, as: UTF8.self)) is \(String(describing: ours)), for jansson \(String(describing: theirs))"
            )
            return
        }
        #expect(taken > 20_000, "seed \(seed)")
    }

    private func mutate(_ text: inout [UInt8], _ dice: inout Dice) {
        let place = dice.below(text.count)
        switch dice.below(4) {
        case 0: text.remove(at: place)
        case 1: text[place] = UInt8(dice.below(256))
        case 2: text.insert(contentsOf: pieces[dice.below(pieces.count)], at: place)
        default:
            let other = Array(texts[dice.below(texts.count)].utf8)
            let start = dice.below(other.count)
            text.replaceSubrange(
                place..., with: other[start..<min(other.count, start + dice.below(40))])
        }
        if text.isEmpty { text = [0x20] }
    }

    /// The value that jansson reads, as ``JSON/parse(_:depthLimit:)`` returns it.
    private func value(_ text: [UInt8]) -> JSONValue? {
        // jansson takes a NUL after the value for the end of the text.
        guard !text.contains(0) else { return nil }
        let root = text.withUnsafeBytes { buffer in
            json_loadb(
                buffer.assumingMemoryBound(to: CChar.self).baseAddress, text.count,
                size_t(JSON_REJECT_DUPLICATES | JSON_DECODE_ANY), nil)
        }
        guard let root else { return nil }
        defer { cjansson_decref(root) }
        var numbers = numbers(of: text)[...]
        return value(root, &numbers)
    }

    private func value(
        _ json: UnsafeMutablePointer<json_t>, _ numbers: inout ArraySlice<String>
    ) -> JSONValue {
        switch cjansson_typeof(json) {
        case JSON_OBJECT:
            var members = JSONObject()
            var place = json_object_iter(json)
            while let current = place {
                let name = String(cString: json_object_iter_key(current))
                members.append(name, value(json_object_iter_value(current), &numbers))
                place = json_object_iter_next(json, current)
            }
            return .object(members)
        case JSON_ARRAY:
            return .array(
                (0..<json_array_size(json)).map { value(json_array_get(json, $0), &numbers) })
        case JSON_STRING: return .string(String(cString: json_string_value(json)))
        case JSON_INTEGER:
            let text = numbers.removeFirst()
            return text == "-0"
                ? .number(JSONNumber(text, value: -0.0)) : .integer(json_integer_value(json))
        case JSON_REAL:
            return .number(JSONNumber(numbers.removeFirst(), value: json_real_value(json)))
        case JSON_TRUE: return true
        case JSON_FALSE: return false
        default: return .null
        }
    }

    /// The numbers of a valid text as they are written, which jansson does not keep.
    private func numbers(of text: [UInt8]) -> [String] {
        var numbers: [String] = []
        var current: [UInt8] = []
        var isInText = false
        var isEscaped = false
        for byte in text + [0x20] {
            if isInText {
                if isEscaped {
                    isEscaped = false
                } else if byte == 0x5c {
                    isEscaped = true
                } else if byte == 0x22 {
                    isInText = false
                }
                continue
            }
            let isPart =
                (0x30...0x39).contains(byte) || byte == 0x2d || byte == 0x2e
                || !current.isEmpty && [0x2b, 0x45, 0x65].contains(byte)
            if isPart {
                current.append(byte)
            } else if !current.isEmpty {
                numbers.append(String(decoding: current, as: UTF8.self))
                current = []
            }
            if byte == 0x22 { isInText = true }
        }
        return numbers
    }
}

/// Random numbers that a seed repeats (splitmix64).
private struct Dice {
    var state: UInt64

    mutating func below(_ bound: Int) -> Int {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return Int((mixed ^ (mixed >> 31)) % UInt64(bound))
    }
}
