import Turnstone

/// The deliveries of a notification, one by one. Alternates follow the delivery that they belong to.
package protocol DeliverySource {
    /// Returns the next delivery; `nil` after the last.
    mutating func next() throws(Failure) -> Delivery?
}
