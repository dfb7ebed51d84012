/// Some of the push services, such as those that this installation can reach.
package struct PushServiceSet: Equatable, Sendable {
    private let hasAPNs: Bool
    private let hasFCM: Bool
    private let hasWeb: Bool

    package init(_ services: [PushService]) {
        hasAPNs = services.contains(.apns)
        hasFCM = services.contains(.fcm)
        hasWeb = services.contains(.web)
    }

    /// The services for which credentials are set: FCM with `FCM_SERVICE_ACCOUNT`, Web Push with
    /// `VAPID_SUBJECT`, and APNs in any case, because without credentials its pushes become files.
    package init(reachableWith variables: Variables) {
        hasAPNs = true
        hasFCM = variables.text("FCM_SERVICE_ACCOUNT") != nil
        hasWeb = variables.text("VAPID_SUBJECT") != nil
    }

    /// The set as a number of its own; 0 for APNs alone.
    package var bits: Int64 { (hasAPNs ? 0 : 4) + (hasFCM ? 1 : 0) + (hasWeb ? 2 : 0) }

    package func contains(_ service: PushService) -> Bool {
        switch service {
        case .apns: hasAPNs
        case .fcm: hasFCM
        case .web: hasWeb
        }
    }
}
