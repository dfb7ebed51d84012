/// The content that a push service is asked to show, the same for every device except for the badge.
package struct PushContent: Equatable, Sendable {
    package var type: PushType
    /// `apns-priority`: one of ``PushType/priorities``.
    package var priority: Int
    /// At most 64 bytes. A later push with the same id replaces this one on the screen.
    package var collapseID: String?
    package var payload: Payload
    /// Whether the push service stores it for a device that is offline, until the notification expires.
    /// Otherwise the service tries once.
    package var isKept: Bool
    /// The differences on the devices of single push services.
    package var overrides = PushOverrides()
    /// Texts of the payload in several languages. The payload has those for readers whose language is not
    /// known.
    package var translations = AlertTranslations()

    package init(
        type: PushType, priority: Int, collapseID: String?, payload: Payload, isKept: Bool = true
    ) {
        self.type = type
        self.priority = priority
        self.collapseID = collapseID
        self.payload = payload
        self.isKept = isKept
    }

    /// A number on the app's icon, and nothing else. iOS changes the icon without waking the app.
    package init(badge: Int64, collapseID: String) {
        self.init(
            type: .alert, priority: 5, collapseID: collapseID,
            payload: Payload(aps: ["badge": .integer(badge)]))
    }

    /// Whether mute and quiet hours do not hold it on a service's devices, because it shows nothing there or
    /// cannot wait.
    package func isExempt(on service: PushService) -> Bool {
        if payload.isUrgent { return true }
        let aps = service == .apns ? apnsPayload.aps : payload.aps
        let isSilent = type != .alert || !aps.showsText && aps["sound"] == nil
        return isSilent && !overrides.areNoticed(on: service)
    }
}
