import Turnstone

/// A message to one browser.
package struct WebPushRequest: Sendable {
    package let subscription: PushSubscription
    package let message: WebPushMessage
    /// The moment until which the push service keeps it for a browser that is offline.
    package let expires: Timestamp

    package init(
        _ message: WebPushMessage, to subscription: PushSubscription, expires: Timestamp
    ) {
        self.subscription = subscription
        self.message = message
        self.expires = expires
    }

    /// The longest `TTL` that push services accept, 28 days, in seconds.
    package static let longestTTL: Int64 = 2_419_200

    /// The value of `TTL`: how many seconds the push service keeps it; 0 to try once (RFC 8030 section 5.2).
    func ttl(at now: Timestamp) -> Int64 {
        guard message.isKept else { return 0 }
        return min(max(0, (expires - now).milliseconds / 1000), Self.longestTTL)
    }
}
