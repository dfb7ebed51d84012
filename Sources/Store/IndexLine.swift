import JSON
import Turnstone
import Unix

// The lines of the audience index: FORMAT.md.

/// A user as a line of the audience index shows it.
package struct IndexedUser {
    package let user: UserID
    /// The facts that conditions need; without aliases and time zone.
    package let profile: Profile
    /// Those that messages go to, or would if their platform had a push service; `nil` if this program does
    /// not know one of them.
    package let devices: [Device]?
}

enum IndexLine {
    private static let start = Array(#"{"u":""#.utf8)
    private static let alsoMark = Array(#","also":true"#.utf8)

    /// The line of a user, with the newline.
    ///
    /// - Parameter isTentative: whether the document has not been committed yet, so that the lines before
    ///   it stay valid.
    static func text(of user: UserID, _ content: JSONObject, isTentative: Bool) -> [UInt8] {
        var members: JSONObject = ["u": .string(user.text)]
        if isTentative { members.append("also", true) }
        for member in content.members { members.append(member.name, member.value) }
        return JSON.text(.object(members)) + [UInt8(ascii: "\n")]
    }

    /// The index's record of a user.
    static func content(of document: User) -> JSONObject {
        var members = JSONObject()
        let profile = document.profile
        members["t"] = profile.tags.members.isEmpty ? nil : .object(profile.tags)
        members["p"] = properties(of: profile)
        let devices = document.devices.filter { $0.isOpenToMessages }
        switch devices.count {
        case 0: break
        case 1: members["d"] = devices[0].indexed
        default: members["d"] = .array(devices.map { $0.indexed })
        }
        var ids = JSONObject()
        for device in document.devices where device.kind == .device && !device.isOpenToMessages {
            if let id = device.firstID { ids[id] = 1 }
        }
        members["i"] = ids.members.isEmpty ? nil : .object(ids)
        return members
    }

    /// `[sessions, first, last, language, country]`, without what is missing at the end; `nil` without any.
    /// The last session is in milliseconds after the first, if that is known.
    private static func properties(of profile: Profile) -> JSONValue? {
        let first = profile.firstSession?.milliseconds
        // Wrapping: a damaged document may have any moment, and it must be read back unchanged.
        let last = profile.lastSession.map { $0.milliseconds &- (first ?? 0) }
        var elements: [JSONValue] = [
            .integer(profile.sessionCount), first.map { .integer($0) } ?? .null,
            last.map { .integer($0) } ?? .null,
            profile.language.map { .string($0.text) } ?? .null,
            profile.country.map { .string($0.text) } ?? .null,
        ]
        while elements.last == .null { elements.removeLast() }
        return elements == [0] ? nil : .array(elements)
    }

    private static let sumMark = Array(#","k":""#.utf8)
    /// Of `,"k":"1a2b3c4d"}`.
    private static let sumLength = 16

    /// The line with a sum of its bytes as its last member.
    ///
    /// - Parameter line: ends with a newline.
    static func summed(_ line: [UInt8]) -> [UInt8] {
        let end = line.count - 2
        return line[..<end] + sumMark + sum(of: line, in: 0..<end) + Array("\"}\n".utf8)
    }

    private static func sum(of bytes: [UInt8], in range: Range<Int>) -> [UInt8] {
        let sum = Words.sum(of: bytes, in: range)
        return Array(hex((0..<4).map { UInt8(truncatingIfNeeded: sum >> ($0 * 8)) }).utf8)
    }

    /// The place of a line's sum, with its name and the end of the line; `nil` if it has none.
    private static func placeOfSum(
        in bytes: borrowing Span<UInt8>, _ line: Range<Int>
    ) -> Range<Int>? {
        let start = line.upperBound - sumLength
        guard start > line.lowerBound, begins(bytes, line, at: start, with: sumMark) else {
            return nil
        }
        return start..<line.upperBound
    }

    /// The line without its sum and without its last brace.
    static func content(of line: Range<Int>, in bytes: borrowing Span<UInt8>) -> Range<Int> {
        let end = placeOfSum(in: bytes, line)?.lowerBound ?? line.upperBound - 1
        return line.lowerBound..<end
    }

    /// Whether a line's sum is right. A line of an earlier version has none.
    static func hasRightSum(_ line: Range<Int>, in bytes: [UInt8]) -> Bool {
        guard let place = placeOfSum(in: bytes.span, line) else { return true }
        let digits = bytes[(place.lowerBound + sumMark.count)..<(place.upperBound - 2)]
        return digits.elementsEqual(sum(of: bytes, in: line.lowerBound..<place.lowerBound))
    }

    /// Whether bytes between two newlines look like a line.
    static func isLine(_ line: ArraySlice<UInt8>) -> Bool {
        line.starts(with: start) && line.last == UInt8(ascii: "}")
    }

    /// The user whom the beginning of a line names.
    ///
    /// - Parameter beginning: up to the end that ``endOfUser(in:_:)`` found.
    static func name(_ beginning: [UInt8]) -> UserID? {
        do throws(JSONError) {
            let members = try JSON.parse(beginning + [UInt8(ascii: "}")]).object
            return members?["u"]?.string.flatMap { UserID($0) }
        } catch { return nil }
    }

    /// How many devices a line has: each is an array that begins with a text, and nothing else in a line is.
    /// Inside a text, a quotation mark follows a backslash.
    static func deviceCount(in bytes: borrowing Span<UInt8>, _ line: Range<Int>) -> Int {
        var count = 0
        var previous = UInt8(0)
        for place in line {
            if bytes[place] == UInt8(ascii: "\""), previous == UInt8(ascii: "[") { count += 1 }
            previous = bytes[place]
        }
        return count
    }

    /// Where a line has texts of 24 lower-case hex digits, as a device's id is.
    static func deviceIDs(in bytes: borrowing Span<UInt8>, _ line: Range<Int>) -> [Range<Int>] {
        var found: [Range<Int>] = []
        var mark: Int?
        for place in line {
            switch bytes[place] {
            case UInt8(ascii: "\""):
                if let mark, place - mark == 25 { found.append(mark + 1..<place) }
                mark = place
            case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "f"): break
            default: mark = nil
            }
        }
        return found
    }

    /// The end of the part of a line that names the user; `nil` if it is no such line.
    static func endOfUser(in bytes: borrowing Span<UInt8>, _ line: Range<Int>) -> Int? {
        guard begins(bytes, line, at: line.lowerBound, with: start) else { return nil }
        var place = line.lowerBound + start.count
        while place < line.upperBound {
            switch bytes[place] {
            case UInt8(ascii: "\\"): place += 2
            case UInt8(ascii: "\""): return place + 1
            default: place += 1
            }
        }
        return nil
    }

    /// Whether the lines before it stay valid.
    ///
    /// - Parameter end: the result of ``endOfUser(in:_:)``.
    static func isTentative(
        in bytes: borrowing Span<UInt8>, _ line: Range<Int>, after end: Int
    ) -> Bool {
        begins(bytes, line, at: end, with: alsoMark)
    }

    private static func begins(
        _ bytes: borrowing Span<UInt8>, _ line: Range<Int>, at place: Int, with text: [UInt8]
    ) -> Bool {
        guard line.upperBound - place >= text.count else { return false }
        for offset in text.indices where bytes[place + offset] != text[offset] { return false }
        return true
    }

    /// Reads a line; `nil` if it is not one.
    static func read(_ line: [UInt8]) -> IndexedUser? {
        let members: JSONObject
        do throws(JSONError) {
            guard let object = try JSON.parse(line).object else { return nil }
            members = object
        } catch { return nil }
        guard let user = members["u"]?.string.flatMap({ UserID($0) }) else { return nil }
        var profile = Profile()
        profile.tags = members["t"]?.object ?? [:]
        if let properties = members["p"]?.array {
            profile.takeProperties(properties)
        } else {
            profile.takeEarlierProperties(members)
        }
        var elements = members["d"]?.array ?? []
        // The only device is not in an array of its own.
        if elements.first?.string != nil { elements = [.array(elements)] }
        let devices = elements.compactMap { Device(indexed: $0) }
        return IndexedUser(
            user: user, profile: profile,
            devices: devices.count == elements.count ? devices : nil)
    }
}

extension Profile {
    /// Takes what ``IndexLine/properties(of:)`` has written.
    fileprivate mutating func takeProperties(_ elements: [JSONValue]) {
        func element(_ place: Int) -> JSONValue? {
            place < elements.count ? elements[place] : nil
        }
        sessionCount = element(0)?.count ?? 0
        let first = element(1)?.integer
        firstSession = first.map { Timestamp(milliseconds: $0) }
        lastSession = element(2)?.integer.map { Timestamp(milliseconds: $0 &+ (first ?? 0)) }
        language = element(3)?.string.flatMap { LanguageTag($0) }
        country = element(4)?.string.flatMap { CountryCode($0) }
    }

    /// Takes what version 1 wrote. Programs of that version may still run when the index is made again, and
    /// add their lines to it.
    fileprivate mutating func takeEarlierProperties(_ members: JSONObject) {
        language = members["l"]?.string.flatMap { LanguageTag($0) }
        country = members["c"]?.string.flatMap { CountryCode($0) }
        firstSession = members["f"]?.timestamp
        lastSession = members["s"]?.timestamp
        sessionCount = members["n"]?.count ?? 0
    }
}

extension Device {
    /// `[token, version, platform, environment, id]`, without what is missing at the end. A token of iOS is
    /// base64url of its bytes.
    fileprivate var indexed: JSONValue {
        var elements: [String] = [
            platform == .ios ? base64URL(bytes(ofHex: token.text)) : token.text,
            appVersion ?? "", platform == .ios ? "" : platform.rawValue,
            environment?.rawValue ?? "", firstID ?? "",
        ]
        while elements.last == "" { elements.removeLast() }
        return JSONValue(texts: elements)
    }

    fileprivate init?(indexed json: JSONValue) {
        guard let elements = json.texts, let text = elements.first else { return nil }
        func element(_ place: Int) -> String? {
            place < elements.count && !elements[place].isEmpty ? elements[place] : nil
        }
        guard let platform = Platform(rawValue: element(2) ?? Platform.ios.rawValue) else {
            return nil
        }
        let name = platform == .ios ? base64URLDecoded(text).map { hex($0) } : text
        guard let token = name.flatMap({ DeviceToken($0, on: platform) }) else { return nil }
        self.init(
            token, environment: element(3).flatMap { APNsEnvironment(rawValue: $0) },
            registered: Timestamp(milliseconds: 0))
        self.platform = platform
        appVersion = element(1)
        firstID = element(4)
    }
}

/// The bytes that lower-case hex digits stand for.
private func bytes(ofHex text: String) -> [UInt8] {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(text.utf8.count / 2)
    var high: UInt8?
    for digit in text.utf8 {
        let value = digit < 58 ? digit &- 48 : digit &- 87
        if let first = high {
            bytes.append(first << 4 | value)
            high = nil
        } else {
            high = value
        }
    }
    return bytes
}
