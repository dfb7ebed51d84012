import Documents
import Spool
import Turnstone
import Unix

/// Reads the messages of releases. Those of a large release are read in slices, one in each turn of the loop,
/// so that other users' pushes do not wait for thousands of files.
final class ReleaseReader: RunPart {
    let run: Run
    private let documents: LastDocuments
    /// The large releases that are read, or were read a moment ago.
    private var readings: [String: Reading] = [:]
    /// The files that this run has found to be damaged.
    private var knownDamage: Set<String> = []

    init(_ run: Run, _ documents: LastDocuments) {
        self.run = run
        self.documents = documents
    }

    /// The messages of a release, oldest first.
    struct Contents {
        fileprivate(set) var messages: [HeldMessage] = []
        fileprivate(set) var damaged: [(id: String, path: String, failure: Failure)] = []
        /// The ids of those that were cancelled.
        fileprivate(set) var cancelled: Set<String> = []
    }

    private final class Reading {
        var paths: ArraySlice<String>
        var contents = Contents()
        var failure: Failure?
        /// When all was read.
        var end: Instant?

        init(_ paths: [String]) { self.paths = paths[...] }
    }

    /// More messages than this are read in slices.
    private static let most = 64

    var isReading: Bool { readings.values.contains { $0.end == nil } }

    /// The messages of a release that is about to be accepted; `nil` until they are read.
    func contents(of release: String) throws(Failure) -> Contents? {
        try contents(of: release, withRecords: false)
    }

    /// The messages of a release that is about to be sent, and which of them are cancelled; `nil` until they
    /// are read.
    func take(_ release: String) throws(Failure) -> Contents? {
        let contents = try contents(of: release, withRecords: true)
        if contents != nil { readings[release] = nil }
        return contents
    }

    private func contents(
        of release: String, withRecords: Bool
    ) throws(Failure) -> Contents? {
        if let reading = readings[release] {
            guard let end = reading.end else { return nil }
            if let failure = reading.failure {
                readings[release] = nil
                throw failure
            }
            // More of them may have been cancelled since.
            if withRecords, Instant.now - end > .seconds(1) {
                for message in reading.contents.messages {
                    addIfCancelled(message.id, to: &reading.contents)
                }
            }
            return reading.contents
        }
        let reading = Reading(try spool.paths(ofRelease: release))
        guard reading.paths.count <= Self.most else {
            readings[release] = reading
            return nil
        }
        while let path = reading.paths.popFirst() {
            try read(path, into: &reading.contents, withRecords: withRecords)
        }
        reading.contents.messages.sortForRelease()
        return reading.contents
    }

    /// Those of a release's damaged files that this run had not found before. Each is logged.
    func newDamage(
        in contents: Contents
    ) -> [(id: String, path: String, failure: Failure)] {
        let new = contents.damaged.filter { knownDamage.insert($0.path).inserted }
        for file in new { log.failure(file.failure) }
        return new
    }

    /// Forgets what was read of a release that has got more messages since.
    func forget(_ release: String) { readings[release] = nil }

    private func read(
        _ path: String, into contents: inout Contents, withRecords: Bool
    ) throws(Failure) {
        do throws(Failure) {
            guard let message = try spool.heldMessage(at: path) else { return }
            contents.messages.append(message)
            if withRecords { addIfCancelled(message.id, to: &contents) }
        } catch {
            guard intake.isDamage(error) else { throw error }
            contents.damaged.append((spool.idOfHeldMessage(at: path), path, error))
        }
    }

    private func addIfCancelled(_ message: String, to contents: inout Contents) {
        if documents.record(of: message)?.cancelled != nil { contents.cancelled.insert(message) }
    }

    /// Reads for one slice of time.
    func readSome() {
        guard !readings.isEmpty else { return }
        let slice = TimeSlice()
        let moment = Instant.now
        readings = readings.filter { reading in
            reading.value.end.map { moment - $0 < .minutes(1) } ?? true
        }
        for reading in readings.values where reading.end == nil {
            do throws(Failure) {
                while !slice.isOver, let path = reading.paths.popFirst() {
                    try read(path, into: &reading.contents, withRecords: true)
                }
            } catch {
                reading.failure = error
                reading.paths = []
            }
            guard reading.paths.isEmpty else { return }
            reading.contents.messages.sortForRelease()
            reading.end = Instant.now
            if slice.isOver { return }
        }
    }
}
