/// The required type of an override's member. The values' names are for error messages.
enum OverrideRule: String {
    case text = "a string"
    case texts = "an array of strings"
    case flag = "true or false"
    case bit = "0 or 1"
    case number = "a number"
    case fraction = "a number from 0 to 1"
    case count = "a whole number from 0 to 2147483647"
    case object = "an object"
    case alert = "a string or an object"
    case map = "an object of strings"
    case color = "a color such as #rrggbb"
    case url = "an http or https address"
    case label = "1 to 50 letters, digits or any of -_.~%"
    case seconds = "seconds such as 3.5s"
    case timeToLive = "0s to 2419200s"
    case allSeconds = "an array of seconds such as 3.5s"
    case moment = "a time such as 2026-11-21T12:00:00Z"

    func accepts(_ value: JSONValue) -> Bool {
        switch self {
        case .text: value.string != nil
        case .texts: value.array?.allSatisfy { $0.string != nil } == true
        case .flag: value.bool != nil
        case .bit: value.integer == 0 || value.integer == 1
        case .number:
            switch value {
            case .integer, .number: true
            default: false
            }
        case .fraction:
            switch value {
            case .integer(let number): (0...1).contains(number)
            case .number(let number): (0...1).contains(number.value)
            default: false
            }
        case .count: (0...Int64(Int32.max)).contains(value.integer ?? -1)
        case .object: value.object != nil
        case .alert: value.string != nil || value.object != nil
        case .map: value.object?.members.allSatisfy { $0.value.string != nil } == true
        case .color: isColor(value)
        case .url: isAddress(value)
        case .label: isLabel(value)
        case .seconds: wholeSeconds(value) != nil
        case .timeToLive: isTimeToLive(value)
        case .allSeconds: value.array?.allSatisfy { wholeSeconds($0) != nil } == true
        case .moment: isMoment(value)
        }
    }

    private func isColor(_ value: JSONValue) -> Bool {
        guard let bytes = value.string?.utf8, bytes.count == 7 else { return false }
        return bytes.first == UInt8(ascii: "#")
            && bytes.dropFirst().allSatisfy { hexValue($0) != nil }
    }

    private func isAddress(_ value: JSONValue) -> Bool {
        guard let bytes = value.string?.utf8, bytes.count <= PushEndpoint.limit else {
            return false
        }
        return (bytes.starts(with: "https://".utf8) || bytes.starts(with: "http://".utf8))
            && bytes.allSatisfy { $0 > 0x20 && $0 < 0x7f }
    }

    /// Google: `^[a-zA-Z0-9-_.~%]{1,50}$`.
    private func isLabel(_ value: JSONValue) -> Bool {
        guard let bytes = value.string?.utf8, (1...50).contains(bytes.count) else { return false }
        return bytes.allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "z"),
                UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "-"), UInt8(ascii: "_"),
                UInt8(ascii: "."), UInt8(ascii: "~"), UInt8(ascii: "%"):
                true
            default: false
            }
        }
    }

    /// The whole seconds of a duration (protobuf's JSON form: up to nine digits after the dot), and whether
    /// there is a fraction above them.
    private func wholeSeconds(_ value: JSONValue) -> (seconds: Int, hasFraction: Bool)? {
        guard let text = value.string, text.utf8.last == UInt8(ascii: "s") else { return nil }
        let parts = text.utf8.dropLast().split(
            separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        let isNumber = parts.allSatisfy { part in
            (1...9).contains(part.count)
                && part.allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
        }
        guard (1...2).contains(parts.count), isNumber,
            let seconds = Int(String(decoding: Array(parts[0]), as: UTF8.self))
        else { return nil }
        return (seconds, parts.count == 2 && parts[1].contains { $0 != UInt8(ascii: "0") })
    }

    private func isTimeToLive(_ value: JSONValue) -> Bool {
        guard let life = wholeSeconds(value) else { return false }
        return life.seconds < 2_419_200 || life.seconds == 2_419_200 && !life.hasFraction
    }

    /// The beginning of RFC 3339's form; FCM checks the rest.
    private func isMoment(_ value: JSONValue) -> Bool {
        guard let bytes = value.string.map({ Array($0.utf8) }), (20...35).contains(bytes.count)
        else {
            return false
        }
        let form = Array("0000-00-00T00:00:00".utf8)
        return zip(bytes, form).allSatisfy { byte, mark in
            mark == UInt8(ascii: "0")
                ? (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) : byte == mark
        }
    }
}
