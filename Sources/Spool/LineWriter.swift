import Turnstone
import Unix

/// Writes lines to a file, many with one system call. The last line of a notification's file says how
/// many there are.
struct LineWriter {
    private let file: FileDescriptor
    private var bytes: [UInt8] = []
    private var isOfNotification = false
    private var count = 0

    init(_ file: FileDescriptor) {
        self.file = file
    }

    /// Appends the first line of a notification's file.
    mutating func begin(_ members: JSONObject) throws(Failure) {
        isOfNotification = true
        try append(LastLine.announced(in: members))
    }

    /// - Throws: too large if the line is longer than ``LineReader/longest``.
    mutating func append(_ members: JSONObject) throws(Failure) {
        let line = line(members)
        guard line.count + LastLine.longestMark <= LineReader.longest else {
            throw .refused(
                .tooLarge,
                "the notification is too large: it takes \(line.count) bytes, and the limit is \(LineReader.longest - LastLine.longestMark)"
            )
        }
        // The line before this one is not the last.
        if bytes.count > 65_536 { try write() }
        bytes += line
        count += 1
    }

    /// Appends a device with the next number. An alternate has its number already.
    mutating func append(_ device: Delivery, _ number: inout Int) throws(Failure) {
        guard !device.isAlternate else { return try append(device.members) }
        var device = device
        device.number = number
        number += 1
        try append(device.members)
    }

    /// Writes all that is left, after which nothing may be appended.
    mutating func finish() throws(Failure) {
        if isOfNotification {
            LastLine.mark(&bytes, before: bytes.count - 1, count: count)
        }
        try write()
    }

    private mutating func write() throws(Failure) {
        try systemCalls(file.write(bytes))
        bytes.removeAll(keepingCapacity: true)
    }
}
