import Turnstone
import Unix

/// Writes lines, many at a time.
struct LineWriter {
    private let file: FileDescriptor
    private var bytes: [UInt8] = []

    init(_ file: FileDescriptor) {
        self.file = file
    }

    /// - Throws: where the line is longer than what ``LineReader`` takes.
    mutating func append(_ members: JSONObject) throws(Failure) {
        let line = line(members)
        guard line.count <= LineReader.longest else {
            throw .refused(.tooLarge, "the notification is too large")
        }
        bytes += line
        if bytes.count > 65_536 { try flush() }
    }

    /// Appends a device under the next number; an alternate has one.
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
