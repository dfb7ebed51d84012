import JSON
import TestSupport
import Testing

@Suite(.enabled(if: JSONTestSuite.isThere, "TURNSTONE_VECTORS is not set"))
struct SuiteTests {
    /// Reads a whole value, but skips what is nested deeper than anything that OGS sends: a test's thread has
    /// a small stack.
    private func walk(
        _ scanner: inout JSONScanner, levels: Int = 16
    ) throws(JSONScanner.Malformed) {
        if levels == 0 {
            try scanner.skip()
        } else if scanner.isObject() {
            try scanner.forEachMember { (scanner, _) throws(JSONScanner.Malformed) in
                try walk(&scanner, levels: levels - 1)
            }
        } else if scanner.isArray() {
            try scanner.forEachElement { (scanner) throws(JSONScanner.Malformed) in
                try walk(&scanner, levels: levels - 1)
            }
        } else if scanner.isText() {
            _ = try scanner.text()
        } else {
            _ = try scanner.integer()
        }
    }

    @Test("each text that is taken gets the verdict of RFC 8259")
    func taken() throws {
        for text in try JSONTestSuite.texts() {
            var scanner = JSONScanner(text.bytes)
            let isTaken = (try? walk(&scanner)) != nil && scanner.isAtEnd()
            switch text.verdict {
            case .accept: #expect(isTaken, "\(text.name)")
            case .refuse: #expect(!isTaken, "\(text.name)")
            case .free: break
            }
        }
    }

    @Test("each text that is stepped over is taken where it is valid, and none that was cut off")
    func steppedOver() throws {
        for text in try JSONTestSuite.texts() where text.verdict == .accept {
            var scanner = JSONScanner(text.bytes)
            #expect((try? scanner.skip()) != nil && scanner.isAtEnd(), "\(text.name)")
            let end = text.bytes.lastIndex { $0 == UInt8(ascii: "]") || $0 == UInt8(ascii: "}") }
            let first = text.bytes.first(where: { $0 > 32 })
            guard let end, first != UInt8(ascii: "\"") else { continue }
            var cut = JSONScanner(Array(text.bytes[..<end]))
            #expect((try? cut.skip()) == nil, "\(text.name), cut off")
        }
    }
}
