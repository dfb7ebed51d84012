/// The platform whose push service has a token.
package enum Platform: String, Sendable {
    case ios
    case android
    /// A browser, or an app on another device that subscribes as a browser does (UnifiedPush).
    case web

    package static let all = [Platform.ios, .android, .web]

    /// The push service that brings pushes to its devices.
    package var service: PushService {
        switch self {
        case .ios: .apns
        case .android: .fcm
        case .web: .web
        }
    }

    /// Whether a push may show nothing, such as one with a badge alone. A browser takes its user's permission
    /// back for such pushes.
    package var takesSilentPushes: Bool { self != .web }

    /// The platforms' names, for messages.
    package static let names = "ios, android or web"
}
