/// The kind of push that `apns-push-type` names, and the rules for it.
///
/// Apple: *Sending notification requests to APNs*.
struct PushKind {
    let name: String
    /// The part of the topic after the bundle id.
    let suffix: String
    let priorities: [String]
    let payloadLimit: Int

    private init(_ name: String, _ suffix: String, _ priorities: [String], limit: Int = 4096) {
        self.name = name
        self.suffix = suffix
        self.priorities = priorities
        payloadLimit = limit
    }

    /// A Live Activity's update for everyone who listens to a channel.
    static let broadcast = PushKind("liveactivity", "", ["10", "5"], limit: 5120)

    /// All kinds but `mdm`, which needs a certificate.
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
