/// A service that brings pushes to devices. Each has a queue of its own, so that none can delay another.
package enum PushService: String, Sendable {
    /// Apple's push service.
    case apns
    /// Firebase Cloud Messaging.
    case fcm
    /// The push services of browsers (RFC 8030).
    case web

    package static let all = [PushService.apns, .fcm, .web]
}
