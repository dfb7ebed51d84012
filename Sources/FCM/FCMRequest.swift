import Turnstone

/// A message to one device.
package struct FCMRequest: Equatable, Sendable {
    package let body: [UInt8]
    package let token: DeviceToken

    /// - Parameter now: the time from which the message's time to live is counted.
    package init(_ message: FCMMessage, to token: DeviceToken, now: Timestamp) {
        body = message.body(to: token, now: now)
        self.token = token
    }
}
