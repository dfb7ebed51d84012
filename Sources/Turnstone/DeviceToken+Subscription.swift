// A browser's subscription as one text, so that it can be a token like others: its endpoint, which never has
// a fragment, with both keys as the fragment. The keys are part of it, so nobody who knows only the endpoint
// can replace them: other keys are another device.

extension DeviceToken {
    /// The token of a browser: `https://push.example/abc#p256dh=BASE64URL&auth=BASE64URL`. A subscription has
    /// one such text, at most 2200 bytes.
    package init(_ subscription: PushSubscription) {
        var text = subscription.endpoint.text
        text.reserveCapacity(text.utf8.count + 128)
        text += publicKeyMark
        text += base64URL(subscription.publicKey)
        text += secretMark
        text += base64URL(subscription.secret)
        self.init(unchanged: text)
    }

    /// The subscription of a browser's token; `nil` for other tokens.
    package var subscription: PushSubscription? { PushSubscription(tokenText: text) }

    /// The endpoint of a browser's token; `nil` for other tokens.
    package var endpoint: String? {
        guard isAddress else { return nil }
        let endpoint = text.utf8.prefix { $0 != UInt8(ascii: "#") }
        guard endpoint.count < text.utf8.count else { return nil }
        return String(decoding: Array(endpoint), as: UTF8.self)
    }

    /// The host of a token that is an address. Some hosts are given to single users, so this is cut too.
    var host: String? {
        guard isAddress else { return nil }
        let host = text.utf8.dropFirst(scheme.utf8.count).prefix {
            $0 != UInt8(ascii: "/") && $0 != UInt8(ascii: "?") && $0 != UInt8(ascii: "#")
        }
        return String(decoding: Array(host.prefix(64)), as: UTF8.self)
    }

    private var isAddress: Bool { text.utf8.starts(with: scheme.utf8) }
}

extension PushSubscription {
    /// Reads the text that ``DeviceToken/init(_:)-(PushSubscription)`` makes. The keys may have padding.
    ///
    /// - Returns: `nil` for any other text.
    init?(tokenText text: String) {
        let bytes = Array(text.utf8)
        guard let start = bytes.firstIndex(of: UInt8(ascii: "#")) else { return nil }
        let keys = bytes[start...]
        guard keys.starts(with: publicKeyMark.utf8),
            let end = keys.firstIndex(of: UInt8(ascii: "&")),
            keys[end...].starts(with: secretMark.utf8)
        else { return nil }
        self.init(
            bytes[..<start], key: keys[..<end].dropFirst(publicKeyMark.utf8.count),
            secret: keys[end...].dropFirst(secretMark.utf8.count))
    }
}

private let scheme = "https://"
private let publicKeyMark = "#p256dh="
private let secretMark = "&auth="
