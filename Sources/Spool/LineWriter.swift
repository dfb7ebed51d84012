import Turnstone
import Unix

/// Writes lines to a file, many with one system call.
struct LineWriter {
    private let file: FileDescriptor
    private var bytes: [UInt8] = []

    init(_ file: FileDescriptor) {
        self.file = file
    }

    /// - Throws: too large if the line is longer than ``LineReader/longest``.
    mutating func append(_ members: JSONObject) throws(Failure) {
        let line = line(members)
        guard line.count <= LineReader.longest else {
            throw .refused(
                .tooLarge,
                "the notification is too large: it takes \(line.count) bytes, and the limit is \(LineReader.longest)"
            )
        }
        bytes += line
        if bytes.count > 65_536 { try flush() }
    }

    /// Appends a device with the next number. An alternate has its number already.
    mutating func append(_ device: Delivery, _ number: inout Int) throws(Failure) {
        guard !device.isAlternate else { return try append(device.members) }
        var device = device
        device.number = number
        number += 1
        try append(device.members)
    }

    mutating func flush() throws(Failure) {
        try systemCalls(file.write(bytes))
        bytes.removeAll(keepingCapacity: true)
    }
}
