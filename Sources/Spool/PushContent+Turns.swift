import Turnstone

extension PushContent {
    /// A turn notice.
    package init(_ notice: TurnNotice) {
        self.init(
            type: "alert", priority: 10, collapseID: notice.collapseID, payload: notice.payload)
    }

    /// A number on the app's icon, and nothing else: iOS changes the icon, and does not wake the app for it.
    package init(badge: Int64, collapseID: String) {
        self.init(
            type: "alert", priority: 5, collapseID: collapseID,
            payload: ["aps": ["badge": .integer(badge)]])
    }

    /// Whether neither mute nor quiet hours hold it: it shows nothing, or what cannot wait.
    package var isExempt: Bool {
        Preferences.isExempt(pushType: type, aps: payload.object?["aps"]?.object ?? [:])
    }
}
