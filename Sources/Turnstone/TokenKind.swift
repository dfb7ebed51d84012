/// The use of a token.
package enum TokenKind: Equatable, Sendable {
    /// Messages to the app on its device.
    case device
    /// Updates of one Live Activity, identified by the app's name for it, for what it shows, or both.
    case liveActivity(activity: String?, session: String?)
    /// Starts of Live Activities of one type on its device.
    case liveActivityStart(attributesType: String)

    /// The kind's name in documents and apps.
    package var name: String {
        switch self {
        case .device: "device"
        case .liveActivity: "live_activity"
        case .liveActivityStart: "live_activity_start"
        }
    }
}
