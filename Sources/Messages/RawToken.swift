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

    /// The form of tokens, for error messages.
    static var forms: String {
        "\(DeviceToken.form(on: .ios)) (APNs), \(DeviceToken.form(on: .web)) (a browser), or a token of FCM"
    }

    /// The refusal of a token whose service this installation does not reach.
    var unreachable: Failure {
        let forms = "tokens of APNs are \(DeviceToken.form(on: .ios))"
        return switch service {
        case .apns, .fcm:
            .unacceptable(
                "a token in devices belongs to FCM, which needs FCM_SERVICE_ACCOUNT; \(forms)")
        case .web:
            .unacceptable("a token in devices is a browser's, and Web Push needs VAPID_SUBJECT")
        }
    }
}
