import Turnstone
import Unix

extension Intake {
    /// Whether a notification in the spool is still for one of the devices.
    @export(interface)
    package func isOpen(
        _ id: String, forAnyOf devices: [UserDevice]
    ) throws(Failure) -> Bool {
        guard let path = try path(of: id) else { return false }
        let progress = held[id]?.progress ?? recovered[id] ?? Progress()
        let stamp = try systemCalls(Files.stamp(of: path))
        var read = openDevices[id]
        if read == nil || read?.stamp != stamp {
            let found = SpooledDevices(stamp: stamp, numbers: try numbers(in: path, progress))
            let count = openDevices.values.reduce(0) { $0 + $1.numbers.count }
            if count + found.numbers.count > 100_000 { openDevices = [:] }
            openDevices[id] = found
            read = found
        }
        for device in devices {
            let numbers = read?.numbers[device] ?? []
            if numbers.contains(where: { !progress.settled.contains($0) }) { return true }
        }
        return false
    }

    /// The numbers of the deliveries without an outcome, by device: those before the damage if the file is
    /// damaged.
    private func numbers(
        in path: String, _ progress: Progress
    ) throws(Failure) -> [UserDevice: [Int]] {
        var numbers: [UserDevice: [Int]] = [:]
        do throws(Failure) {
            guard let file = try SpoolFile.open(path) else { return [:] }
            file.progress = progress
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
}

/// The devices of a notification, as read from its file. There may be thousands of pushes that ask for them.
/// Each pass has a file of its own, and within a pass only more of them get an outcome.
struct SpooledDevices {
    let stamp: Files.Stamp?
    /// The numbers of the deliveries to each.
    let numbers: [UserDevice: [Int]]
}
