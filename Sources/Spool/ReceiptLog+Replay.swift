import Turnstone
import Unix

extension ReceiptLog {
    /// The meaning of a line for a later drainer.
    enum Event {
        case sending(ClosedRange<Int>)
        case notSent(number: Int)
        case attempt(number: Int, Outcome?, isLost: Bool)
        /// The notification's file could not be read. Its devices stay open, because somebody may repair the
        /// file and put it back.
        case damaged
        case putOff(pass: Int)
        case finished
    }

    /// Reads the receipts of all days in order, from a position on.
    ///
    /// Malformed lines are skipped: a power cut damaged them, or another program wrote them.
    func replay(
        from start: Position?, report: (Failure) -> Void,
        _ body: (_ id: String, Event, Position) throws(Failure) -> Void
    ) throws(Failure) {
        for volume in try volumes() where start.map({ volume >= $0.volume }) ?? true {
            let offset = volume == start?.volume ? start?.offset ?? 0 : 0
            guard let file = try open(volume, report: report) else { continue }
            try replay(volume, file, from: offset, body)
        }
    }

    /// Opens a file of receipts. One that cannot be read cannot be written either, so it is set aside.
    ///
    /// - Returns: `nil` if it was, or is gone.
    private func open(
        _ volume: Volume, report: (Failure) -> Void
    ) throws(Failure) -> FileDescriptor? {
        switch try openToRead(volume) {
        case .file(let file): return file
        case .gone: return nil
        case .unreadable(let error):
            // A disk that fails now may read it later.
            guard error.errno != .inputOutput else { throw error.failure }
            // Its name and the places in it stay its own.
            if volume.term == term { try raiseTerm() }
            let copy = SetAside.path(for: path(volume))
            try systemCalls(Files.rename(path(volume), copy))
            // A command that gives access has to name the copy.
            let moved = SystemError(error.call, copy, error.errno)
            report(
                Failure(
                    .broken,
                    "\(error.failure(moved.reason).sentence). Moved to \(copy); pushes that only this file records may be sent again",
                    cause: FailureCause.setAside))
            return nil
        }
    }

    private func replay(
        _ volume: Volume, _ file: FileDescriptor, from start: Int,
        _ body: (_ id: String, Event, Position) throws(Failure) -> Void
    ) throws(Failure) {
        // The position may be beyond the end: a power cut may have removed lines that were not durable, and
        // somebody may have copied the checkpoint from elsewhere.
        let size = try systemCalls(file.size())
        var offset = start <= size ? start : 0
        var rest: [UInt8] = []
        while true {
            let more = try systemCalls(file.read(upTo: 1 << 18, at: offset + rest.count))
            if more.isEmpty { return }
            rest += more
            var lineStart = 0
            while let end = rest[lineStart...].firstIndex(of: UInt8(ascii: "\n")) {
                if let members = members(of: rest[lineStart..<end]),
                    let id = members["id"]?.string, let event = Self.event(members)
                {
                    try body(id, event, Position(volume: volume, offset: offset + lineStart))
                }
                lineStart = end + 1
            }
            rest.removeFirst(lineStart)
            offset += lineStart
            guard rest.count > LineReader.longest else { continue }
            // The spool writes no line this long, but its own lines may follow.
            offset += rest.count
            rest = []
            offset = try systemCalls(file.nextData(from: offset))
        }
    }

    static func event(_ members: JSONObject) -> Event? {
        if members["outcome"]?.string == Outcome.damaged.rawValue {
            // With `in`, a held message's file is damaged, not the notification's own.
            return members["in"] == nil ? .damaged : nil
        }
        if let number = members["n"]?.integer.flatMap(Int.init(exactly:)), isNumber(number) {
            if members["not_sent"] != nil { return .notSent(number: number) }
            let outcome = members["outcome"]?.string.flatMap(Outcome.init)
            let isLost = outcome == nil && Receipt.leavesDoubt(members)
            return .attempt(number: number, outcome, isLost: isLost)
        }
        if let first = members["from"]?.integer.flatMap(Int.init(exactly:)), isNumber(first),
            let last = members["to"]?.integer.flatMap(Int.init(exactly:)), isNumber(last),
            first <= last
        {
            return .sending(first...last)
        }
        if let pass = members["pass"]?.count { return .putOff(pass: Int(pass)) }
        return members["finished_at"] == nil ? nil : .finished
    }
}

/// Whether a device can have this number: a notification has at most 2^24 devices. The limit also bounds
/// memory, because one line of the receipts may name a whole range of numbers, and each takes a bit.
func isNumber(_ number: Int) -> Bool { (0..<(1 << 24)).contains(number) }
