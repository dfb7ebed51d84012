import Turnstone

/// A message to one browser.
package struct WebPushRequest: Sendable {
    package let subscription: PushSubscription
    /// Whose browser it is.
    package let recipient: PushRecipient
    package let message: WebPushMessage
    /// The moment until which the push service keeps it for a browser that is offline.
    package let expires: Timestamp

    /// - Parameter user: the browser's user; `nil` if that is not known.
    package init(
        _ message: WebPushMessage, to subscription: PushSubscription, of user: UserID?,
        expires: Timestamp
    ) {
        self.subscription = subscription
        recipient = user.map { .user($0) } ?? .browser(subscription.endpoint.text)
        self.message = message
        self.expires = expires
    }

    /// The longest `TTL` that push services accept, 28 days, in seconds.
    package static let longestTTL: Int64 = 2_419_200

    /// The value of `TTL`: how many seconds the push service keeps it; 0 to try once (RFC 8030 section 5.2).
    func ttl(at now: Timestamp) -> Int64 {
        guard message.isKept else { return 0 }
        return min(max(0, (expires - now).seconds), Self.longestTTL)
    }
}
