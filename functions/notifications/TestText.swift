import Turnstone

/// The text of a test notification, in the languages of the player's page.
struct TestText {
    let title: String
    let body: String

    /// - Parameter language: English stands in for a language that is not here.
    init(in language: LanguageTag?) {
        let name = (language?.text ?? "en").prefix(while: { $0 != "-" })
        (title, body) =
            switch name {
            case "de": ("Es funktioniert", "Benachrichtigungen kommen auf diesem Gerät an.")
            case "fr": ("Ça marche", "Les notifications arrivent sur cet appareil.")
            case "ja": ("届きました", "この端末に通知が届いています。")
            case "ko": ("알림이 도착했습니다", "이 기기에서 알림을 받을 수 있습니다.")
            case "zh": ("通知已送达", "此设备可以收到通知。")
            default: ("It works", "Notifications arrive on this device.")
            }
    }
}
