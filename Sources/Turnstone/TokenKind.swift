/// Whose push service knows a token.
package enum Platform: String, Sendable {
    case ios
    case android
}

/// What a token is good for.
package enum TokenKind: Equatable, Sendable {
    /// Messages to the app on its device.
    case device
    /// Updates of one Live Activity, known by the app's name for it, or for what it shows, or both.
    case liveActivity(activity: String?, session: String?)
    /// Starts of Live Activities on its device, of one type.
    case liveActivityStart(attributesType: String)

    /// The kind's own word, as documents and apps use it.
    package var name: String {
        switch self {
        case .device: "device"
        case .liveActivity: "live_activity"
        case .liveActivityStart: "live_activity_start"
        }
    }
}
