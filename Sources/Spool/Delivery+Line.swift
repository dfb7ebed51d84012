import Turnstone

/// Reads a device's line; `nil` if it is not one.
func readDelivery(_ line: ArraySlice<UInt8>) -> Delivery? {
    line.withUnsafeBufferPointer { Delivery(plain: $0) } ?? members(of: line).flatMap(Delivery.init)
}

extension Delivery {
    /// Reads a line as ``members`` has it for nearly all devices: those members in their order, without
    /// blanks and escapes. A large notification has a million lines, and building JSON values for one takes
    /// five times as long.
    ///
    /// - Returns: `nil` for any other line.
    fileprivate init?(plain bytes: UnsafeBufferPointer<UInt8>) {
        var line = PlainLine(bytes)
        guard line.take(#"{"n":"#), let number = line.integer(), isNumber(Int(number)),
            line.take(#","device":""#), let device = line.text()
        else { return nil }
        var service = PushService.apns
        if line.take(#","service":""#) {
            guard let known = line.text().flatMap(PushService.init) else { return nil }
            service = known
        }
        guard let token = DeviceToken(device, of: service) else { return nil }
        self.init(token: token, of: service, environment: nil)
        self.number = Int(number)
        if line.take(#","environment":""#) {
            guard let known = line.text().flatMap(APNsEnvironment.init) else { return nil }
            environment = known
        }
        if line.take(#","user":""#) {
            guard let known = line.text().flatMap(UserID.init) else { return nil }
            user = known
        }
        if line.take(#","device_id":""#) {
            guard let id = line.text() else { return nil }
            deviceID = id
        }
        if line.take(#","badge":"#) {
            guard let number = line.integer(), let count = JSONValue.integer(number).count else {
                return nil
            }
            badge = Int(count)
        }
        if line.take(#","stamp":"#) {
            guard let number = line.integer() else { return nil }
            stamp = number
        }
        if line.take(#","proven":true"#) { isProven = true }
        if line.take(#","last":"#) {
            guard line.integer() != nil else { return nil }
        }
        guard line.take("}"), line.isAtEnd else { return nil }
    }
}

/// A line that is read from left to right, as long as it has the expected form.
private struct PlainLine {
    private let bytes: UnsafeBufferPointer<UInt8>
    private var place = 0

    init(_ bytes: UnsafeBufferPointer<UInt8>) {
        self.bytes = bytes
    }

    var isAtEnd: Bool { place == bytes.count }

    /// Passes these bytes, if they are the next ones.
    mutating func take(_ expected: StaticString) -> Bool {
        let count = expected.utf8CodeUnitCount
        guard bytes.count - place >= count else { return false }
        let start = expected.utf8Start
        for offset in 0..<count where bytes[place + offset] != start[offset] { return false }
        place += count
        return true
    }

    /// Passes a text of printable ASCII without escapes, and the quotation mark after it.
    mutating func text() -> String? {
        var end = place
        while end < bytes.count {
            switch bytes[end] {
            case UInt8(ascii: "\""):
                defer { place = end + 1 }
                return String(decoding: bytes[place..<end], as: UTF8.self)
            case UInt8(ascii: "\\"): return nil
            case 0x20..<0x7f: end += 1
            default: return nil
            }
        }
        return nil
    }

    /// Passes a whole number of at most 18 digits.
    mutating func integer() -> Int64? {
        let isNegative = take("-")
        let start = place
        var number: Int64 = 0
        while place < bytes.count, case UInt8(ascii: "0")...UInt8(ascii: "9") = bytes[place] {
            guard place - start < 18 else { return nil }
            number = number * 10 + Int64(bytes[place] - UInt8(ascii: "0"))
            place += 1
        }
        // A zero before other digits is not JSON, and -0 is no integer.
        let isZeroFirst = place > start && bytes[start] == UInt8(ascii: "0")
        guard place > start, !isZeroFirst || place == start + 1 && !isNegative else { return nil }
        return isNegative ? -number : number
    }
}
