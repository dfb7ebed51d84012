import Crypto
import JSON
import Turnstone
import Unix

extension Intake {
    /// Whether a push of a notification in the spool may have arrived at a device although no answer says so.
    ///
    /// - Parameter devices: the ids of the device in receipts.
    @export(interface)
    package func mayHaveArrived(
        _ id: String, onAnyOf devices: [String]
    ) throws(Failure) -> Bool {
        guard let path = try path(of: id) else { return false }
        let progress = held[id]?.progress ?? recovered[id] ?? Progress()
        let version = DoubtfulDevices.Version(
            stamp: try systemCalls(Files.stamp(of: path)), unanswered: progress.unanswered.count,
            doubtful: progress.doubtful.count)
        if let read = doubts[id], read.version == version {
            return devices.contains(where: read.ids.contains)
        }
        let ids = try doubtfulDevices(in: path, progress)
        if doubts.count >= 16 { doubts = [:] }
        doubts[id] = DoubtfulDevices(version: version, ids: ids)
        return devices.contains(where: ids.contains)
    }

    /// The ids of devices: those before the damage if the file is damaged.
    private func doubtfulDevices(
        in path: String, _ progress: Progress
    ) throws(Failure) -> Set<String> {
        var ids: Set<String> = []
        do throws(Failure) {
            guard let file = try SpoolFile.open(path) else { return [] }
            file.progress = progress
            // Few files have such a push, and reading all lines of a large file takes long.
            let isAnswered = progress.unanswered.count == 0 && progress.doubtful.count == 0
            if isAnswered, try !systemCalls(Files.contains(Array("\"in_doubt\"".utf8), in: path)) {
                return []
            }
            while let delivery = try file.nextOfAll() {
                if file.isInDoubt(delivery), let device = delivery.device { ids.insert(device) }
            }
        } catch {
            guard Damage.explains(error) else { throw error }
        }
        return ids
    }
}

/// The devices that a notification may have reached without an answer, as read from its file. Each older push
/// that waits behind a notification held back by its user asks for them, and there may be thousands.
struct DoubtfulDevices {
    /// What the ids depend on. Counts are enough: within a pass, `unanswered` only shrinks and `doubtful` only
    /// grows, and each pass has a file of its own.
    struct Version: Equatable {
        let stamp: Files.Stamp?
        let unanswered: Int
        let doubtful: Int
    }

    let version: Version
    let ids: Set<String>
}
