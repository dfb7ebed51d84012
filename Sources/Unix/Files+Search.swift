import CUnix

// Searches files for bytes, piece by piece, and overwrites bytes in place.

extension Files {
    /// Which occurrences of bytes count.
    package enum Occurrence {
        case any
        /// No letter or digit is next to it.
        case word
        /// It is a JSON string. The file may be cut behind it.
        case quoted
        /// The same, but not the name of a member.
        case string
        /// The same, and not the value of a member either. The JSON has no blanks.
        case element
        /// The file ends with it.
        case end
    }

    /// Whether the file contains the bytes; `false` if it does not exist.
    @export(interface)
    package static func contains(
        _ bytes: [UInt8], in path: String, as occurrence: Occurrence = .any
    ) throws(SystemError) -> Bool {
        var isFound = false
        try forEachPlace(of: bytes, in: path, .read, occurrence) { (_, _) in
            isFound = true
            return false
        }
        return isFound
    }

    /// Overwrites every occurrence of the bytes with as many copies of `byte`, durably. Nothing else in the
    /// file moves: offsets into it stay valid, and other processes may append to it meanwhile.
    ///
    /// - Parameter isMeant: returns whether to overwrite the occurrence at an offset in the file.
    /// - Returns: how many were overwritten.
    @export(interface)
    package static func overwrite(
        _ bytes: [UInt8], with byte: UInt8, in path: String, as occurrence: Occurrence = .any,
        where isMeant: (FileDescriptor, Int) throws(SystemError) -> Bool = { (_, _) in true }
    ) throws(SystemError) -> Int {
        var count = 0
        let other = [UInt8](repeating: byte, count: bytes.count)
        let file = try forEachPlace(of: bytes, in: path, .overwrite, occurrence) {
            (file, place) throws(SystemError) in
            guard try isMeant(file, place) else { return true }
            try file.write(other, at: place)
            count += 1
            return true
        }
        if count > 0 { try file?.synchronize() }
        return count
    }

    /// - Parameter body: gets the file and the offset of the bytes; returns `false` to end the search.
    /// - Returns: the file, if it exists.
    @discardableResult
    private static func forEachPlace(
        of bytes: [UInt8], in path: String, _ mode: FileDescriptor.Mode, _ occurrence: Occurrence,
        _ body: (FileDescriptor, Int) throws(SystemError) -> Bool
    ) throws(SystemError) -> FileDescriptor? {
        guard !bytes.isEmpty, let file = try open(path, mode) else { return nil }
        let size = 1 << 20
        var offset = occurrence == .end ? max(0, try file.size() - bytes.count - 2) : 0
        while true {
            // Step back by the overlap of two pieces: the bytes may begin with zeros, which a hole does not
            // show.
            offset = max(offset, try file.nextData(from: offset) - bytes.count - 3)
            let piece = try file.read(upTo: size, at: offset)
            let isLast = piece.count < size
            // Pieces overlap by the bytes, the two before them and the two behind them.
            for place in places(of: bytes, in: piece, occurrence) {
                guard place > 1 || offset == 0, isLast || place + bytes.count + 1 < piece.count
                else { continue }
                guard try body(file, offset + place) else { return file }
            }
            if isLast { return file }
            offset += piece.count - bytes.count - 3
        }
    }
}

/// C: `memmem(3)`.
private func places(
    of bytes: [UInt8], in piece: [UInt8], _ occurrence: Files.Occurrence
) -> [Int] {
    var found: [Int] = []
    piece.withUnsafeBufferPointer { piece in
        bytes.withUnsafeBufferPointer { bytes in
            guard let start = piece.baseAddress, let pattern = bytes.baseAddress else { return }
            var place = 0
            while let next = memmem(start + place, piece.count - place, pattern, bytes.count) {
                place = UnsafeRawPointer(next) - UnsafeRawPointer(start)
                let end = place + bytes.count
                let counts =
                    switch occurrence {
                    case .any: true
                    case .word: isAlone(place..<end, in: piece)
                    case .quoted: isQuoted(place..<end, in: piece)
                    case .string: isString(place..<end, in: piece)
                    case .element: isElement(place..<end, in: piece)
                    case .end: end == piece.count
                    }
                if counts {
                    found.append(place)
                    place = end
                } else {
                    place += 1
                }
            }
        }
    }
    return found
}

private func isAlone(_ range: Range<Int>, in piece: UnsafeBufferPointer<UInt8>) -> Bool {
    (range.lowerBound == 0 || !isLetterOrDigit(piece[range.lowerBound - 1]))
        && (range.upperBound == piece.count || !isLetterOrDigit(piece[range.upperBound]))
}

private func isQuoted(_ range: Range<Int>, in piece: UnsafeBufferPointer<UInt8>) -> Bool {
    let quote = UInt8(ascii: "\"")
    return (range.lowerBound == 0 || piece[range.lowerBound - 1] == quote)
        && (range.upperBound == piece.count || piece[range.upperBound] == quote)
}

private func isString(_ range: Range<Int>, in piece: UnsafeBufferPointer<UInt8>) -> Bool {
    let next = range.upperBound + 1
    return isQuoted(range, in: piece) && (next >= piece.count || piece[next] != UInt8(ascii: ":"))
}

private func isElement(_ range: Range<Int>, in piece: UnsafeBufferPointer<UInt8>) -> Bool {
    let previous = range.lowerBound - 2
    return isString(range, in: piece) && (previous < 0 || piece[previous] != UInt8(ascii: ":"))
}

/// Whether a byte is an ASCII letter or digit.
package func isLetterOrDigit(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
        UInt8(ascii: "a")...UInt8(ascii: "z"):
        true
    default: false
    }
}
