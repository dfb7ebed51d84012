/// What `apns-push-type` asks for, and what follows from it.
///
/// Apple: *Sending notification requests to APNs*.
struct PushKind {
    let name: String
    /// What the topic has after the bundle id.
    let suffix: String
    let priorities: [String]
    let payloadLimit: Int

    private init(_ name: String, _ suffix: String, _ priorities: [String], limit: Int = 4096) {
        self.name = name
        self.suffix = suffix
        self.priorities = priorities
        payloadLimit = limit
    }

    /// A Live Activity's update for all that listen to a channel.
    static let broadcast = PushKind("liveactivity", "", ["10", "5"], limit: 5120)

    /// Without `mdm`, which needs a certificate.
    static let all = [
        PushKind("alert", "", ["10", "5", "1"]),
        PushKind("background", "", ["5"]),
        PushKind("liveactivity", ".push-type.liveactivity", ["10", "5"]),
        PushKind("widgets", ".push-type.widgets", ["10", "5", "1"]),
        PushKind("controls", ".push-type.controls", ["10", "5", "1"]),
        PushKind("location", ".location-query", ["10", "5", "1"]),
        PushKind("voip", ".voip", ["10", "5", "1"], limit: 5120),
        PushKind("pushtotalk", ".voip-ptt", ["10"]),
        PushKind("complication", ".complication", ["10", "5", "1"]),
        PushKind("fileprovider", ".pushkit.fileprovider", ["10", "5", "1"]),
    ]
}
