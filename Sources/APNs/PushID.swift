import Crypto
import Turnstone

/// The push's `apns-id`: the same for one notification and one device at every attempt, by whichever
/// process, so that a repeat can be told from a second push.
///
/// - Returns: a UUID in lower-case canonical form.
package func pushID(notification: String, token: DeviceToken) -> String {
    stableUUID("apns \(notification) \(token.hex)")
}

/// The broadcast's `apns-request-id`, by the same rule.
package func pushID(notification: String, channel: ChannelID) -> String {
    stableUUID("apns \(notification) \(channel.text)")
}
