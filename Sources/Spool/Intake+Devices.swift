import Crypto
import JSON
import Turnstone
import Unix

extension Intake {
    /// Whether a notification in the spool is still for one of the devices.
    @export(interface)
    package func isOpen(
        _ id: String, forAnyOf devices: [UserDevice]
    ) throws(Failure) -> Bool {
        guard var file = try look(at: id) else { return false }
        if file.read.numbers == nil {
            file.read.numbers = try numbers(in: file)
            keep(file.read, of: id)
        }
        for device in devices {
            let numbers = file.read.numbers?[device] ?? []
            if numbers.contains(where: { !file.progress.settled.contains($0) }) { return true }
        }
        return false
    }

    /// Whether a push of a notification in the spool may have arrived at a device although no answer says so.
    ///
    /// - Parameter devices: the ids of the device in receipts.
    @export(interface)
    package func mayHaveArrived(
        _ id: String, onAnyOf devices: [String]
    ) throws(Failure) -> Bool {
        guard var file = try look(at: id) else { return false }
        let counts = SpooledDevices.Counts(
            unanswered: file.progress.unanswered.count, doubtful: file.progress.doubtful.count)
        if file.read.doubtful?.counts != counts {
            file.read.doubtful = (counts, try doubtfulDevices(in: file))
            keep(file.read, of: id)
        }
        guard let doubtful = file.read.doubtful else { return false }
        return devices.contains(where: doubtful.ids.contains)
    }

    /// A notification's file as it is now, what the receipts say about it, and what was read of it before.
    private struct Look {
        let path: String
        let progress: Progress
        var read: SpooledDevices
    }

    /// - Returns: `nil` if the notification has left the spool.
    private func look(at id: String) throws(Failure) -> Look? {
        for _ in 0..<2 {
            guard let path = try place(of: id) else { return nil }
            guard let stamp = try systemCalls(Files.stamp(of: path)) else {
                // It was put off or finished since its place was looked up.
                places.removeValue(forKey: id)
                continue
            }
            var read = SpooledDevices(stamp: stamp)
            if let known = spooledDevices[id], known.stamp == stamp { read = known }
            return Look(
                path: path, progress: held[id]?.progress ?? recovered[id] ?? Progress(),
                read: read)
        }
        return nil
    }

    /// ``path(of:)``, looked up once in a turn of the drainer's loop: that takes many system calls.
    private func place(of id: String) throws(Failure) -> String? {
        if let path = held[id]?.path { return path }
        if let known = places[id] { return known }
        let path = try spool.path(of: id)
        places.updateValue(path, forKey: id)
        return path
    }

    private func keep(_ read: SpooledDevices, of id: String) {
        spooledDevices[id] = nil
        let count = spooledDevices.values.reduce(0) { $0 + $1.size }
        if count + read.size > 100_000 { spooledDevices = [:] }
        spooledDevices[id] = read
    }

    /// The numbers of the deliveries without an outcome, by device: those before the damage if the file is
    /// damaged.
    private func numbers(in look: Look) throws(Failure) -> [UserDevice: [Int]] {
        var numbers: [UserDevice: [Int]] = [:]
        do throws(Failure) {
            guard let file = try SpoolFile.open(look.path) else { return [:] }
            file.progress = look.progress
            while let delivery = try file.next() {
                for device in try file.userDevices(of: delivery) {
                    numbers[device, default: []].append(delivery.number)
                }
            }
        } catch {
            guard Damage.explains(error) else { throw error }
        }
        return numbers
    }

    /// The ids of devices: those before the damage if the file is damaged.
    private func doubtfulDevices(in look: Look) throws(Failure) -> Set<String> {
        var ids: Set<String> = []
        do throws(Failure) {
            guard let file = try SpoolFile.open(look.path) else { return [] }
            file.progress = look.progress
            // Few files have such a push, and reading all lines of a large file takes long.
            let isAnswered =
                look.progress.unanswered.count == 0 && look.progress.doubtful.count == 0
            if isAnswered,
                try !systemCalls(Files.contains(Array("\"in_doubt\"".utf8), in: look.path))
            {
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

/// The devices of a notification, as read from its file. Thousands of pushes may ask for them. Each pass has a
/// file of its own, and within a pass only more of the devices get an outcome.
struct SpooledDevices {
    let stamp: Files.Stamp
    /// The numbers of the deliveries to each; `nil` until they are read.
    var numbers: [UserDevice: [Int]]?
    /// The ids of the devices that it may have reached without an answer, and what they depend on; `nil` until
    /// they are read.
    var doubtful: (counts: Counts, ids: Set<String>)?

    /// These counts are enough: within a pass, `unanswered` only shrinks and `doubtful` only grows.
    struct Counts: Equatable {
        let unanswered: Int
        let doubtful: Int
    }

    init(stamp: Files.Stamp) { self.stamp = stamp }

    /// How much memory it takes, in devices.
    var size: Int { 1 + (numbers?.count ?? 0) + (doubtful?.ids.count ?? 0) }
}
