import Turnstone
import Unix

/// Deliveries that are known already.
struct ListedDeliveries<Rest: IteratorProtocol<Delivery>>: DeliverySource {
    var rest: Rest

    mutating func next() throws(Failure) -> Delivery? { rest.next() }
}

/// A notification that is on disk and not accepted yet.
package struct PreparedNotification {
    let path: String
    /// The folder in the spool where it will be.
    package let folder: String
    /// How many devices it is for.
    package let devices: Int

    /// Makes the name of its file durable: from now on, ``Spool/complete(_:in:)`` can accept it if this
    /// process is killed.
    package func makeFindable() throws(Failure) {
        do throws(SystemError) { try Files.synchronizeFolder(of: path) } catch {
            Files.remove(path + ".new")
            throw error.failure
        }
    }

    /// Accepts it: when this returns, it will be delivered, whatever happens.
    package func accept() throws(Failure) {
        try systemCalls { () throws(SystemError) in try Files.commit(path) }
    }
}
