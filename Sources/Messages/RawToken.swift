import Turnstone

/// A token that a request names without its platform.
struct RawToken {
    let token: DeviceToken
    /// The push service that it belongs to if nobody has registered it: hex is for APNs, a subscription for
    /// Web Push, and anything else for FCM.
    let service: PushService

    init?(_ text: String) {
        for service in [PushService.apns, .web, .fcm] {
            guard let token = DeviceToken(text, of: service) else { continue }
            // An endpoint without its keys.
            guard service != .fcm || !text.utf8.starts(with: "https://".utf8) else { return nil }
            self.token = token
            self.service = service
            return
        }
        return nil
    }

    /// What tokens look like, for messages.
    static func forms(for services: PushServiceSet) -> String {
        var forms = DeviceToken.form(on: .ios)
        if services.contains(.web) { forms += ", or a browser's \(DeviceToken.form(on: .web))" }
        if services.contains(.fcm) { forms += ", or a token of FCM" }
        return forms
    }
}
