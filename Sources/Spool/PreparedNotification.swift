import Turnstone
import Unix

/// A list of deliveries as a source.
struct ListedDeliveries<Rest: IteratorProtocol<Delivery>>: DeliverySource {
    var rest: Rest

    mutating func next() throws(Failure) -> Delivery? { rest.next() }
}

/// A notification that is on disk but not accepted yet.
package struct PreparedNotification {
    let path: String
    /// The folder in the spool where it will be once it is accepted.
    package let folder: String
    /// The number of devices it is for.
    package let devices: Int

    /// Makes the name of its file durable. From then on, ``Spool/complete(_:in:)`` can accept it if this
    /// process is killed.
    package func makeFindable() throws(Failure) {
        do throws(SystemError) { try Files.synchronizeFolder(of: path) } catch {
            Files.remove(path + ".new")
            throw error.failure
        }
    }

    /// Accepts it: once this returns, it will be delivered, even after a crash.
    package func accept() throws(Failure) {
        try systemCalls { () throws(SystemError) in try Files.commit(path) }
    }
}
