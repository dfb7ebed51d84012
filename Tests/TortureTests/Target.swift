import JSON
import Turnstone

/// A device that is to get one push.
struct Target: Hashable {
    let service: PushService
    /// What the simulator's report calls it.
    let name: String
    /// What ``Receipts`` call it: the first eight digits of an iPhone's token, or `fcm/1` for the only device
    /// of player 1 that FCM reaches.
    let receiptName: String
}

extension Target {
    init(iPhone token: String) {
        self.init(service: .apns, name: token, receiptName: String(token.prefix(8)))
    }

    /// What makes a push replace an earlier one on the device.
    func collapseID(of push: JSONObject) -> String? {
        switch service {
        case .apns: push["headers"]?.object?["apns-collapse-id"]?.string
        case .fcm: push["payload"]?.object?["android"]?.object?["collapse_key"]?.string
        case .web: push["headers"]?.object?["topic"]?.string
        }
    }
}
