import JSON
import Turnstone
import Unix

/// A user who is erased, as files of notifications may name them.
struct ErasedName {
    let user: UserID
    /// The user's id as JSON has it, without its quotes.
    let text: [UInt8]
    let tokens: [[UInt8]]

    init(_ user: UserID, _ tokens: [DeviceToken]) {
        self.user = user
        text = Array(JSON.text(.string(user.text)).dropFirst().dropLast())
        self.tokens = tokens.map { Array($0.text.utf8) }
    }

    /// Whether a file has the id or one of the tokens.
    func isNamed(in path: String) throws(SystemError) -> Bool {
        if try Files.contains(text, in: path, as: .string) { return true }
        for token in tokens {
            if try Files.contains(token, in: path) { return true }
        }
        return false
    }

    /// The same for a file in a queue. Its first line or a device's names each user, so the tokens are looked for only
    /// if the first line is lost.
    func isNamed(inAccepted path: String) throws(SystemError) -> Bool {
        if try Files.contains(text, in: path, as: .string) { return true }
        let start = Array(#"{"n":"#.utf8)
        do throws(SystemError) {
            guard try FileDescriptor.open(path, .read).read(upTo: start.count) == start else {
                return false
            }
        } catch {
            // It has got its final name, or was put off.
            guard error.errno == .noEntry else { throw error }
            return false
        }
        return try isNamed(in: path)
    }

    /// Whether a file is for the user alone, though its first line is damaged: the id is where the spool writes it, or
    /// before the member that the spool writes behind it.
    fileprivate func owns(_ line: [UInt8]) -> Bool {
        let start = #"{"version":1,"id":"00000000-0000-4000-8000-000000000000","user":""#.utf8.count
        let rest = line.dropFirst(start)
        let next = rest.dropFirst(text.count).first
        let quote = UInt8(ascii: "\"")
        let isQuoted = line.prefix(start).last == quote || next == quote
        // Behind the id is a quote, and then a comma. One of these may be what is damaged, or the file is cut there.
        let behind = rest.dropFirst(text.count + 1).first
        let isFollowed =
            next == quote || next == nil || behind == UInt8(ascii: ",") || behind == nil
        let isMember = next != quote || behind != UInt8(ascii: ":")
        if rest.starts(with: text), isQuoted, isFollowed, isMember { return true }
        let member = Array("\"user\":\"".utf8) + text + Array("\",\"accepted_at\":".utf8)
        return firstPlace(of: member, in: line, 0..<line.count) != nil
    }
}

/// What is left of a notification's file without a user's devices.
struct LinesOfOthers {
    private(set) var text: [UInt8] = []
    /// How many lines were the user's, or 1 if the file is for the user alone. In a line that does not say whose it is,
    /// each place that names the user counts.
    private(set) var count = 0
    /// Whether nothing is left for anybody.
    private(set) var isNothing = true

    init(_ file: [UInt8], besides name: ErasedName) {
        var lines = Lines(file)
        guard let line = lines.next() else { return }
        let first = members(of: line)
        if first?["id"] == nil, first?["n"] != nil {
            // The first line is lost, and with it whose the others are that name no user.
            lines = Lines(file)
            add(&lines, besides: name, isBegun: false)
            return
        }
        let owner = first?["user"]?.string.flatMap(UserID.init)
        guard owner != name.user,
            owner != nil || !name.owns(Array(line))
        else {
            count = 1
            return
        }
        guard owner == nil else {
            isNothing = false
            return
        }
        if first == nil {
            appendUnclear(line, without: name)
            // The damage may have joined it with a device's line.
            let device = Array("\"device\":".utf8)
            if firstPlace(of: device, in: text, 0..<text.count) != nil { isNothing = false }
        } else {
            text = Array(line)
        }
        add(&lines, besides: name, isBegun: true)
    }

    /// - Parameter isBegun: whether there is a line before these.
    private mutating func add(_ lines: inout Lines, besides name: ErasedName, isBegun: Bool) {
        var isBegun = isBegun
        // The devices of these numbers have lost the line that stood for them: an alternate does from now on.
        var open: Set<Int> = []
        var last: (end: Int, count: Int)?
        var removed = 0
        while let line = lines.next() {
            let members = members(of: line)
            let user = members?["user"]?.string.flatMap(UserID.init)
            let delivery =
                user == name.user || !open.isEmpty ? members.flatMap(Delivery.init) : nil
            if user == name.user {
                removed += 1
                if let delivery, !delivery.isAlternate { open.insert(delivery.number) }
            } else {
                if isBegun { text.append(UInt8(ascii: "\n")) }
                isBegun = true
                if !line.isEmpty { isNothing = false }
                if var delivery, delivery.isAlternate, open.remove(delivery.number) != nil {
                    delivery.setAlternate(to: nil)
                    text += JSON.text(.object(delivery.members))
                } else if user == nil {
                    appendUnclear(line, without: name)
                } else {
                    text += LastLine.unmarked(line)
                }
            }
            // Another line may be the last one now.
            if let count = LastLine.count(in: line) { last = (text.count, count) }
        }
        count += removed
        if count == 0 { isNothing = false }
        if let last { LastLine.mark(&text, before: last.end, count: last.count - removed) }
    }

    /// Appends a line that does not say whose it is. Hyphens take the place of the user's id and tokens.
    private mutating func appendUnclear(_ line: ArraySlice<UInt8>, without name: ErasedName) {
        var bytes = LastLine.unmarked(line)
        let quote = UInt8(ascii: "\"")
        func overwrite(_ word: [UInt8], where isMeant: (Range<Int>) -> Bool) {
            var start = 0
            while let place = firstPlace(of: word, in: bytes, start..<bytes.count) {
                start = place + word.count
                guard isMeant(place..<start) else { continue }
                for index in place..<start { bytes[index] = UInt8(ascii: "-") }
                count += 1
                isNothing = false
            }
        }
        overwrite(name.text) { place in
            // One of its quotes may be what is damaged.
            let before = place.lowerBound == 0 ? quote : bytes[place.lowerBound - 1]
            let after = place.upperBound == bytes.count ? quote : bytes[place.upperBound]
            return (before == quote || after == quote)
                && !isLetterOrDigit(before) && !isLetterOrDigit(after)
                && bytes[place.upperBound...].dropFirst().first != UInt8(ascii: ":")
        }
        for token in name.tokens { overwrite(token) { _ in true } }
        text += bytes
    }
}

/// The lines of a file, without their ends. A file that ends with a line's end has an empty one behind it.
private struct Lines {
    private let file: [UInt8]
    private var start: Int? = 0

    init(_ file: [UInt8]) { self.file = file }

    mutating func next() -> ArraySlice<UInt8>? {
        guard let start else { return nil }
        let end = file[start...].firstIndex(of: UInt8(ascii: "\n"))
        self.start = end.map { $0 + 1 }
        return file[start..<(end ?? file.count)]
    }
}
