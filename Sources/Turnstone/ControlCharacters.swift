/// The text with control characters and direction marks escaped as in JSON, such as `\\u001b`. A line of the
/// log stays one line, and a terminal that shows it does nothing else.
package func withoutControls(_ text: String) -> String {
    // Printable ASCII, which is nearly every text, stays as it is.
    guard !text.utf8.allSatisfy({ (0x20...0x7e).contains($0) }) else { return text }
    var shown = String.UnicodeScalarView()
    for scalar in text.unicodeScalars {
        switch scalar.value {
        case 0..<0x20, 0x7f..<0xa0, 0x200e, 0x200f, 0x2028...0x202e, 0x2066...0x2069:
            let digits = hex([UInt8(scalar.value >> 8), UInt8(scalar.value & 0xff)])
            shown.append(contentsOf: "\\u\(digits)".unicodeScalars)
        default: shown.append(scalar)
        }
    }
    return String(shown)
}
