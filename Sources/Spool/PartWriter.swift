import Turnstone
import Unix

/// Writes the file of a notification for the devices of one push service.
///
/// The devices are written one by one as they come, so that a hundred thousand take no memory. Only as many
/// are kept as decide about the lane.
final class PartWriter {
    let spool: Spool
    private let notification: Notification
    private let moment: Spool.Moment?
    private var first: [Delivery] = []
    private var count = 0
    /// The final path of the file, once it is open, and what writes to the temporary one.
    private(set) var path: String?
    private var file: FileDescriptor?
    private var writer: LineWriter?

    /// - Parameter moment: the moment before which it is not sent.
    init(_ notification: Notification, notBefore moment: Spool.Moment?, in spool: Spool) {
        self.spool = spool
        self.notification = notification
        self.moment = moment
    }

    /// - Parameter delivery: numbered.
    func append(_ delivery: Delivery) throws(Failure) {
        if writer != nil {
            try writer?.append(delivery.members)
            return
        }
        first.append(delivery)
        if !delivery.isAlternate { count += 1 }
        if count > Lane.most { try open() }
    }

    /// Writes everything, durably except for the file's name.
    func finish() throws(Failure) {
        if writer == nil { try open() }
        if let series = notification.series {
            try spool.mark(notification.id, in: series, acceptedAt: notification.accepted)
        }
        try writer?.finish()
    }

    func synchronize() throws(Failure) { try systemCalls(file?.synchronize()) }

    /// Removes what was written.
    func abandon() {
        if let path { Files.remove(Files.temporary(for: path)) }
    }

    private func open() throws(Failure) {
        let place =
            moment.map { moment in
                let folder = WaitingFolder(
                    moment, now: notification.accepted, expires: notification.expires)
                return "\(spool.waiting)/\(folder.name)"
            } ?? spool.ready(notification.lane(devices: count))
        let path = "\(place)/\(notification.id).jsonl"
        let file = try spool.openTemporary(for: path)
        self.path = path
        self.file = file
        var writer = LineWriter(file)
        try writer.begin(notification.members)
        for delivery in first { try writer.append(delivery.members) }
        first = []
        self.writer = writer
    }
}
