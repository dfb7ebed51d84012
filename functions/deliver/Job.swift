import APNs
import Spool
import Turnstone

/// A notification in the drainer's hands, for one pass over its devices.
final class Job {
    let file: SpoolFile
    /// The file's: another module's getter would copy all of it for each member that is asked for.
    private(set) var notification: Notification
    let lane: Lane
    /// Deliveries that were taken out of the file and have no verdict.
    var open = 0
    /// Deliveries that have a verdict and no outcome.
    private(set) var left = 0
    /// When the first of them wants to be tried again.
    private(set) var notBefore: Timestamp?
    /// Whether the receipts say that the pass is over.
    var isPassNoted = false
    /// What was wrong with its file half-way.
    var damage: Failure?
    /// The devices that a push service took it for in this pass; only where the user has to know.
    var reached: [DeviceToken] = []
    /// Those that may have taken it, without an answer, and that nothing more is sent to.
    var doubtful: [DeviceToken] = []
    /// Whether a push may have arrived that got no answer, to a device that nothing more is sent to.
    var isInDoubt = false
    /// The users of devices that have got an outcome in this pass, where the message changes their badge.
    var badgeUsers: Set<UserID> = []
    /// How many waiting games it told of when it was queued.
    let queuedGames: Int64?
    /// Whether an earlier drainer began this pass and reached devices that ``reached`` does not name.
    let wasReached: Bool
    /// Whether a push service refused it for a device.
    var isRefused = false
    /// What it says of a player's turns, and when that was found out.
    var notice: (filling: NoticeFilling, at: Instant)?
    /// Whether it has begun to bring the user's badge.
    var isBadgeTaken = false
    /// Whether its session's document has this pass as an attempt.
    var isAttemptRecorded = false
    /// By device, how many games of its other users count in the number that was put on its icon.
    var others: [DeviceToken: [(user: UserID, waiting: Int64)]] = [:]
    /// What orders its pushes among others.
    var series: Series? { notification.series }
    /// The devices that others of its series have reached, for each of its keys.
    var groups: [SeriesGroup<PushQueue.Entry>] = []
    /// Of a large one, the boxes in which an earlier drainer may have left it; `nil` until somebody asks.
    var heldBoxes: Set<String>?
    /// What is sent to each device without a badge of its own.
    var payload: APNsPayload?
    /// What is sent to the others.
    var badgedPayload: APNsBadgedPayload?

    init(_ file: SpoolFile, _ lane: Lane) {
        self.file = file
        notification = file.notification
        self.lane = lane
        wasReached = file.isReachedInPass
        queuedGames = notification.push.payload.badge
    }

    /// Whether it tells of a player's turns, or of their number.
    var isForPlayer: Bool { notification.turns != nil || notification.cargo == .turnBadge }

    /// Whether icons show another number now, or may.
    var changesIcons: Bool { !reached.isEmpty || !doubtful.isEmpty || wasReached }

    /// How many games wait, by what it tells; `nil` where it tells nothing.
    var waitingGames: Int64? {
        if case .turns(let waiting) = notice?.filling { waiting } else { nil }
    }

    /// Gives it something else to send.
    func load(_ content: PushContent, expires: Timestamp) {
        file.load(content, expires: expires)
        notification = file.notification
        payload = nil
        badgedPayload = nil
    }

    /// Lets it live as long as messages do whose user does not want to be told before a moment.
    func prolong(for messages: [Notification], heldUntil moment: Timestamp) {
        let end = messages.map { $0.end(heldUntil: moment) }.max()
        guard let end, end > notification.expires else { return }
        file.load(notification.push, expires: end)
        notification = file.notification
    }

    var isPassOver: Bool { open == 0 && (file.isExhausted || damage != nil) }

    /// Why deliveries have no outcome, or another one than accepted: the last reason for each.
    private var reasons: [Outcome?: String] = [:]

    /// Records why deliveries have an outcome, or none.
    func record(_ reason: String?, for outcome: Outcome?) {
        if let reason { reasons[outcome] = reason }
    }

    /// What came of it so far, such as `0 accepted, 1 quarantined (BadDeviceToken)`.
    var outcomes: String {
        let parts = Outcome.all.filter { $0 == .accepted || file.count($0) > 0 }.map { outcome in
            let reason = outcome == .accepted ? nil : reasons[outcome]
            return "\(file.count(outcome)) \(outcome.rawValue)" + (reason.map { " (\($0))" } ?? "")
        }
        return parts.joined(separator: ", ")
    }

    /// Why what is left has no outcome, such as `2 to retry (TooManyRequests)`.
    var retries: String {
        let done = Outcome.all.contains { file.count($0) > 0 } ? "\(outcomes), " : ""
        return "\(done)\(left) to retry (\(reasons[nil] ?? "not sent"))"
    }

    /// Counts a delivery that is to be tried again, not before a moment.
    func retry(notBefore moment: Timestamp, because reason: String?) {
        record(reason, for: nil)
        left += 1
        notBefore = min(notBefore ?? moment, moment)
    }
}
