/// A push service's token: the address of one app on one device, and as good as a key to it.
package struct DeviceToken: Hashable, Sendable {
    /// APNs: lower-case hex, 2 to 512 digits, an even number. FCM: as it came. Web Push: the subscription's
    /// endpoint with both keys as its fragment, see ``init(_:)-(PushSubscription)``.
    package let text: String

    /// An APNs token in upper or lower case. Apple states no length: tokens of 64, 106 and 160 digits have
    /// been seen.
    package init?(_ text: String) {
        let count = text.utf8.count
        guard (2...512).contains(count), count % 2 == 0 else { return nil }
        if isLowercaseHex(text) {
            self.text = text
        } else {
            guard let lowered = lowercaseHex(Array(text.utf8)) else { return nil }
            self.text = lowered
        }
    }

    /// A token of the platform's push service. Google states no format: 1 to 4096 visible ASCII characters
    /// are accepted.
    package init?(_ text: String, on platform: Platform) {
        switch platform {
        case .ios: self.init(text)
        case .android:
            guard (1...4096).contains(text.utf8.count),
                text.utf8.allSatisfy({ (33...126).contains($0) })
            else { return nil }
            self.init(unchanged: text)
        case .web:
            guard let subscription = PushSubscription(tokenText: text) else { return nil }
            self.init(subscription)
        }
    }

    /// The form of the platform's tokens, for error messages.
    package static func form(on platform: Platform) -> String {
        switch platform {
        case .ios: "2 to 512 hex digits, an even number of them"
        case .android: "1 to 4096 visible ASCII characters"
        case .web: "https://ENDPOINT#p256dh=KEY&auth=SECRET, the keys in base64url"
        }
    }

    /// A token of a push service.
    package init?(_ text: String, of service: PushService) {
        switch service {
        case .apns: self.init(text, on: .ios)
        case .fcm: self.init(text, on: .android)
        case .web: self.init(text, on: .web)
        }
    }

    init(unchanged text: String) {
        self.text = text
    }

    /// The tokens that a text may stand for if its platform is unknown.
    package static func all(named text: String) -> [DeviceToken] {
        var tokens: [DeviceToken] = []
        for platform in [Platform.web, .android, .ios] {
            guard let token = DeviceToken(text, on: platform), !tokens.contains(token) else {
                continue
            }
            tokens.append(token)
        }
        return tokens
    }

    /// The first 16 digits and `...`, as diagnostics shows a token to its owner. A browser's is its push
    /// service's host and `...`.
    package var preview: String { (host ?? firstDigits(16, of: text)) + "..." }
}

extension DeviceToken: CustomStringConvertible {
    /// The first eight digits, or a browser's push service. A whole token in a log would let its readers push
    /// to the device.
    package var start: String { host ?? firstDigits(8, of: text) }

    package var description: String { "\(start)…" }
}
