import Crypto
import Turnstone

/// The push's `apns-id`. It is the same at every attempt to send a notification to a device, in any process,
/// so that a repeated push can be recognized.
///
/// - Returns: a UUID in lower-case canonical form.
package func pushID(notification: String, token: DeviceToken) -> String {
    stableUUID("apns", notification, token.text)
}

/// The broadcast's `apns-request-id`, made by the same rule.
package func pushID(notification: String, channel: ChannelID) -> String {
    stableUUID("apns", notification, channel.text)
}
