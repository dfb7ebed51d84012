import Turnstone
import Unix

extension ReceiptLog {
    /// Reads the lines about one notification from a position on, in the order of the days, until `body`
    /// returns `true`.
    ///
    /// Lines about other notifications are not parsed: a gigabyte takes a second or two.
    ///
    /// - Parameters:
    ///   - end: the first day that is not read; `nil` to read all.
    ///   - body: returns whether to stop.
    /// - Returns: false if some of the files cannot be read, or could not and were set aside.
    @discardableResult
    func forEachLine(
        of id: String, from start: Position, before end: String? = nil, _ body: (JSONObject) -> Bool
    ) throws(Failure) -> Bool {
        func isMeant(_ volume: Volume) -> Bool {
            volume >= start.volume && end.map { volume.day < $0 } ?? true
        }
        let files = try files()
        var isWhole = !files.setAside.contains { isMeant($0.volume) }
        let beginning = Array("{\"id\":\"\(id)\"".utf8)
        for volume in files.volumes where isMeant(volume) {
            let offset = volume == start.volume ? start.offset : 0
            guard let hasStopped = try readLines(of: volume, from: offset, beginning, body) else {
                isWhole = false
                continue
            }
            if hasStopped { break }
        }
        return isWhole
    }

    /// The files that cannot be read, and those that could not and were set aside. The newest are tried first.
    func unreadable(until end: Instant) throws(Failure) -> [Failure] {
        let files = try files()
        var unreadable = files.setAside.map { $0.failure }
        for volume in files.volumes.reversed() where Instant.now < end {
            guard case .unreadable(let error) = try openToRead(volume) else { continue }
            unreadable.append(error.failure)
        }
        return unreadable
    }

    /// A file of receipts, for a program that does not write it.
    enum OpenedVolume {
        case file(FileDescriptor)
        /// It was removed after its 30 days, or set aside.
        case gone
        /// It is there, and what it says is not known.
        case unreadable(SystemError)
    }

    /// - Throws: what concerns more than this file, such as too many open files.
    func openToRead(_ volume: Volume) throws(Failure) -> OpenedVolume {
        let path = path(volume)
        do throws(SystemError) { return .file(try .open(path, .read)) } catch {
            if error.errno == .noEntry {
                return Files.target(ofLink: path) == nil ? .gone : .unreadable(error)
            }
            guard error.errno.concernsOneFile else { throw error.failure }
            return .unreadable(error)
        }
    }

    /// - Returns: whether `body` has stopped it; `nil` if the file cannot be read.
    private func readLines(
        of volume: Volume, from start: Int, _ beginning: [UInt8], _ body: (JSONObject) -> Bool
    ) throws(Failure) -> Bool? {
        let file: FileDescriptor
        switch try openToRead(volume) {
        case .file(let opened): file = opened
        case .gone: return false
        case .unreadable(let error):
            // A disk that fails now may read it later.
            guard error.errno != .inputOutput else { throw error.failure }
            return nil
        }
        // The position may be beyond the end: old days are removed, and a power cut may have removed lines
        // that were not durable.
        var offset = start
        if try systemCalls(file.size()) < start { offset = 0 }
        while true {
            let piece = try systemCalls(file.read(upTo: 1 << 20, at: offset))
            guard let end = piece.lastIndex(of: UInt8(ascii: "\n")) else {
                guard piece.count == 1 << 20 else { return false }
                // The spool writes no line this long, but its own lines may follow.
                offset = try systemCalls(file.nextData(from: offset + piece.count))
                continue
            }
            for place in lines(of: piece[...end], beginningWith: beginning) {
                if let members = members(of: piece[place]), body(members) { return true }
            }
            offset += end + 1
        }
    }
}

/// The places of the lines that begin with `beginning`, without their line ends.
private func lines(
    of piece: ArraySlice<UInt8>, beginningWith beginning: [UInt8]
) -> [Range<Int>] {
    var found: [Range<Int>] = []
    piece.withUnsafeBufferPointer { bytes in
        var start = 0
        while start < bytes.count {
            var end = start
            while end < bytes.count, bytes[end] != UInt8(ascii: "\n") { end += 1 }
            if end - start >= beginning.count,
                zip(beginning.indices, beginning).allSatisfy({ bytes[start + $0] == $1 })
            {
                found.append(piece.startIndex + start..<piece.startIndex + end)
            }
            start = end + 1
        }
    }
    return found
}
