import Turnstone

extension PushType {
    /// The `apns-topic`: the bundle id, with a suffix for most types.
    ///
    /// Apple: *Sending notification requests to APNs*.
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
}
