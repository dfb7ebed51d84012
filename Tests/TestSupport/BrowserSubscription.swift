import Turnstone

/// The text of a browser's token: a subscription that no browser has, with a public key that is no point of
/// the curve.
///
/// - Parameter keys: another one stands for other keys.
package func browserToken(
    _ number: Int, at origin: String = "https://push.example", keys: UInt8 = 1
) -> String {
    "\(origin)/send/\(number)#p256dh=\(base64URL([4] + [UInt8](repeating: keys, count: 64)))"
        + "&auth=\(base64URL([UInt8](repeating: keys, count: 16)))"
}

/// The same as `PushSubscription.toJSON()` gives it.
package func browserSubscription(
    _ number: Int, at origin: String = "https://push.example", keys: UInt8 = 1
) -> JSONValue {
    [
        "endpoint": .string("\(origin)/send/\(number)"), "expirationTime": .null,
        "keys": [
            "p256dh": .string(base64URL([4] + [UInt8](repeating: keys, count: 64))),
            "auth": .string(base64URL([UInt8](repeating: keys, count: 16))),
        ],
    ]
}
