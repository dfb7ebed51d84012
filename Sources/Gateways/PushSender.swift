import Turnstone

/// A client of a push service, which sends and receives without waiting.
package protocol PushSender: AnyObject {
    /// The push service's answer to a push.
    associatedtype ServiceVerdict

    /// The number of pushes that should be submitted now.
    var room: Int { get }

    /// The number of pushes without a verdict.
    var backlog: Int { get }

    /// Waits until something arrives.
    func wait(upTo pause: Interval)

    /// Sends and receives.
    ///
    /// - Returns: the pushes that have their verdict.
    func exchange() throws(Failure) -> [SettledPush<ServiceVerdict>]

    /// Gives the pushes that are not sent yet the verdict that they were not.
    func giveBackUnsent(_ reason: String)

    func close()
}
