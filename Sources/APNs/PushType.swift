/// `apns-push-type`.
///
/// Apple: *Sending notification requests to APNs*.
///
/// `mdm` is missing: it needs a client certificate.
package enum PushType: String, CaseIterable, Sendable {
    case alert
    case background
    case liveActivity = "liveactivity"
    case widgets
    case controls
    case location
    case voip
    case pushToTalk = "pushtotalk"
    case complication
    case fileProvider = "fileprovider"

    /// `apns-topic`: the bundle's id, and for most types what the type adds to it.
    package func topic(of bundle: String) -> String {
        switch self {
        case .alert, .background: bundle
        case .liveActivity: bundle + ".push-type.liveactivity"
        case .widgets: bundle + ".push-type.widgets"
        case .controls: bundle + ".push-type.controls"
        case .location: bundle + ".location-query"
        case .voip: bundle + ".voip"
        case .pushToTalk: bundle + ".voip-ptt"
        case .complication: bundle + ".complication"
        case .fileProvider: bundle + ".pushkit.fileprovider"
        }
    }

    /// How many bytes a payload of this type may have.
    package var payloadLimit: Int { self == .voip ? 5120 : 4096 }

    /// How many bytes the payload of a broadcast may have.
    package static let broadcastLimit = 5120

    /// The values of `apns-priority` that APNs takes with it.
    package var priorities: [Int] {
        switch self {
        case .background: [5]
        case .liveActivity: [5, 10]
        default: [1, 5, 10]
        }
    }
}
