import Turnstone
import Unix

/// Gives the deliveries of a notification one by one, alternates after the delivery that they are for.
package protocol DeliverySource {
    /// The next delivery, `nil` after the last.
    mutating func next() throws(Failure) -> Delivery?
}
