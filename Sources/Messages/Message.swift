import Turnstone

/// Something that an app's own backend has to say, whoever it is for.
package struct Message: Equatable {
    /// By what users turn kinds of messages on and off, such as `message`.
    package let kind: String
    /// `alert`, `background` or another of APNs' push types.
    package let pushType: String
    /// 10, 5 or 1.
    package let priority: Int
    package let collapseID: String?
    /// What happens to each user's badge.
    package let badge: BadgeChange?
    /// What the app receives.
    package let payload: JSONValue
    /// Before which nothing goes out; `nil` where it goes at once.
    package let sendAfter: Timestamp?
    /// After this nobody wants it any more.
    package let expires: Timestamp
    /// Whether APNs keeps it for a device that is away.
    package let isKept: Bool

    /// Whether neither mute nor quiet hours hold it: it shows nothing, or what cannot wait.
    var isExempt: Bool {
        let level = payload.object?["aps"]?.object?["interruption-level"]?.string
        return pushType != "alert" || level == "time-sensitive" || level == "critical"
    }

    /// What a payload may have in bytes.
    static func limit(of pushType: String) -> Int { pushType == "voip" ? 5120 : 4096 }
}
