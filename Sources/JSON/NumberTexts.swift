/// The numbers of a JSON text as they are written. jansson keeps only a double or 64 bits of each.
struct NumberTexts {
    private let text: [UInt8]
    private var place = 0
    /// The count of numbers read so far.
    private var count = 0

    /// - Parameter text: valid JSON.
    init(_ text: [UInt8]) {
        self.text = text
    }

    /// The text of the number at `index`, counted from 0. Each call must use a higher index than the one
    /// before.
    mutating func number(at index: Int) -> String {
        while true {
            let range = next()
            count += 1
            if count > index { return String(decoding: text[range], as: UTF8.self) }
        }
    }

    /// Skips to the end of the next number and returns its range. Strings before it are skipped.
    private mutating func next() -> Range<Int> {
        while place < text.count, !isStart(text[place]) {
            if text[place] == UInt8(ascii: "\"") { passText() } else { place += 1 }
        }
        let start = place
        while place < text.count, isPart(text[place]) { place += 1 }
        return start..<place
    }

    private mutating func passText() {
        place += 1
        while place < text.count, text[place] != UInt8(ascii: "\"") {
            place += text[place] == UInt8(ascii: "\\") ? 2 : 1
        }
        place += 1
    }

    private func isStart(_ byte: UInt8) -> Bool {
        byte == UInt8(ascii: "-") || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
    }

    private func isPart(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "+"),
            UInt8(ascii: "."), UInt8(ascii: "e"), UInt8(ascii: "E"):
            true
        default: false
        }
    }
}
