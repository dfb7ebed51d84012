import Turnstone
import Unix

/// A notification that is on disk but not accepted yet.
package struct PreparedNotification {
    let spools: Spools
    let id: String
    /// The file whose rename accepts it.
    let path: String
    /// The files of its parts, if there are several.
    let parts: [String]
    /// Where it will be once it is accepted, below the folder of all queues: for
    /// ``Spools/complete(_:in:)``.
    package let folder: String
    /// The number of devices it is for.
    package let devices: Int

    private var isFindable = false

    init(
        spools: Spools, id: String, path: String, parts: [String] = [], folder: String, devices: Int
    ) {
        self.spools = spools
        self.id = id
        self.path = path
        self.parts = parts
        self.folder = folder
        self.devices = devices
    }

    /// Makes the names of its files durable. From then on, ``Spools/complete(_:in:)`` can accept it if this
    /// process is killed.
    @export(interface)
    package mutating func makeFindable() throws(Failure) {
        do throws(SystemError) {
            for path in parts + [path] { try Files.synchronizeFolder(of: path) }
            isFindable = true
        } catch {
            for path in parts + [path] { Files.remove(Files.temporary(for: path)) }
            throw error.failure
        }
    }

    /// Accepts it: once this returns, it will be delivered, even after a crash.
    package mutating func accept() throws(Failure) {
        // Nothing may name parts that a power cut removes.
        if !parts.isEmpty, !isFindable { try makeFindable() }
        try systemCalls(Files.commit(path))
        guard !parts.isEmpty else { return }
        // It is accepted, so a failure is not the sender's. The next drainer tries again.
        do throws(Failure) { _ = try spools.completeJoint(id) } catch {}
    }
}
