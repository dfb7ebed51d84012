import Turnstone
import Unix

/// A notification's file while it is worked through: its devices one after the other, those with an outcome
/// left out.
///
/// One pass asks the push service once about each device that is left. What has no outcome then is written
/// anew, to wait for the next pass. A small file is read at once, a large one piece by piece.
package final class SpoolFile {
    package private(set) var notification: Notification
    /// Which pass this is, from 1.
    package let pass: Int
    /// Whether a device was reached in an earlier pass.
    let wasReached: Bool
    let path: String
    /// How many devices were handed out.
    package private(set) var count = 0
    /// Whether all devices were handed out.
    package private(set) var isExhausted = false
    /// Which devices have their outcome, and since where the receipts tell of it.
    var progress = Progress()
    private let isSmall: Bool
    private var file: FileDescriptor?
    private var buffer: ArraySlice<UInt8>

    private static let piece = 65_536

    /// - Returns: `nil` where there is no such file.
    /// - Throws: `corrupt` where its first line is no notification.
    static func open(_ path: String) throws(Failure) -> SpoolFile? {
        var file: FileDescriptor?
        let start = try systemCalls { () throws(SystemError) -> [UInt8]? in
            do throws(SystemError) { file = try .open(path, .read) } catch {
                guard error.errno == .noEntry else { throw error }
                return nil
            }
            let start = try file?.read(upTo: piece) ?? []
            if start.count < piece { file = nil }
            return start
        }
        return try start.map { (start) throws(Failure) in try SpoolFile(path, start, file) }
    }

    private init(_ path: String, _ start: [UInt8], _ file: FileDescriptor?) throws(Failure) {
        self.path = path
        self.file = file
        isSmall = file == nil
        buffer = start[...]
        guard let line = takeLine(from: &buffer), let members = members(of: line),
            let notification = Notification(members)
        else { throw corrupt(path) }
        self.notification = notification
        pass = Int(members["pass"]?.integer ?? 1)
        wasReached = members["reached"]?.bool ?? false
    }

    /// The next device without an outcome; `nil` at the end.
    ///
    /// - Throws: `corrupt` where a line is no device.
    package func next() throws(Failure) -> Delivery? {
        while let line = try nextLine() {
            guard let delivery = members(of: line).flatMap(Delivery.init) else {
                throw corrupt(path)
            }
            guard !progress.settled.contains(delivery.number) else { continue }
            count += 1
            return delivery
        }
        isExhausted = true
        buffer = []
        return nil
    }

    private func nextLine() throws(Failure) -> ArraySlice<UInt8>? {
        while true {
            if let line = takeLine(from: &buffer) { return line }
            guard let file else {
                // A file is written whole: what is left without an end of line is not ours.
                guard buffer.isEmpty else { throw corrupt(path) }
                return nil
            }
            let more = try systemCalls { () throws(SystemError) in
                try file.read(upTo: Self.piece)
            }
            if more.isEmpty { self.file = nil }
            buffer = (buffer + more)[...]
        }
    }

    /// The lane that a file of unknown length takes.
    package var lane: Lane { notification.lane(devices: isSmall ? 1 : .max) }

    /// Gives a carrier what it is to carry now.
    package func load(_ push: PushContent, expires: Timestamp) {
        notification.push = push
        notification.expires = expires
    }

    /// Whose device it is.
    package func user(of delivery: Delivery) -> UserID? { delivery.user ?? notification.user }

    /// Whether a push to the device may have arrived though nobody knows.
    package func isInDoubt(_ delivery: Delivery) -> Bool {
        delivery.isInDoubt || progress.unanswered.contains(delivery.number)
            || progress.doubtful.contains(delivery.number)
    }

    /// Whether a device was reached, in this pass or an earlier one.
    package var isReached: Bool { wasReached || progress.isReached }
}

/// How far a notification has come, as the receipts tell.
struct Progress {
    var settled = NumberSet()
    /// Those of which an earlier drainer noted that it was about to send to them, and no answer.
    var unanswered = NumberSet()
    /// Those of which an attempt in this pass has got no answer.
    var doubtful = NumberSet()
    /// Whether the push service took it for a device.
    var isReached = false
    /// Where the receipts first tell of it.
    var start: ReceiptLog.Position?
    /// The last pass that is over.
    var endedPass = 0
}

private func takeLine(from buffer: inout ArraySlice<UInt8>) -> ArraySlice<UInt8>? {
    guard let end = buffer.firstIndex(of: UInt8(ascii: "\n")) else { return nil }
    defer { buffer = buffer[(end + 1)...] }
    return buffer[..<end]
}

private func corrupt(_ path: String) -> Failure {
    Failure(.broken, "unable to read \(path): it is not what it should be", cause: "corrupt")
}
