import Turnstone

extension PushType {
    /// `apns-topic`: the bundle's id, with the suffix that most types have.
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
