/// `apns-push-type`: what a push does on the device, and so what it may contain.
///
/// Apple: *Sending notification requests to APNs*.
///
/// `mdm` is missing: it needs a client certificate.
package enum PushType: String, CaseIterable, Sendable {
    case alert
    case background
    case liveActivity = "liveactivity"
    case voip
    case complication
    case fileProvider = "fileprovider"
    case location
    case pushToTalk = "pushtotalk"
    case widgets
    case controls

    /// The most bytes of a payload of this type.
    package var payloadLimit: Int { self == .voip ? 5120 : 4096 }

    /// The most bytes of a payload that is broadcast to a channel.
    package static let broadcastLimit = 5120

    /// The values of `apns-priority` that APNs accepts with it, the usual one first.
    package var priorities: [Int] {
        switch self {
        case .background: [5]
        case .liveActivity: [5, 10]
        default: [10, 5, 1]
        }
    }

    /// The types that a message can have. A Live Activity has a route of its own.
    package static let ofMessages = allCases.filter { $0 != .liveActivity }
}
