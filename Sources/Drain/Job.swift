import DequeModule
import Messages
import Spool
import Turnstone

/// A notification that the drainer has in hand, for one pass over its devices.
package final class Job {
    let file: SpoolFile
    /// A copy of the file's notification: another module's getter would copy all of it for each member that
    /// is read.
    package private(set) var notification: Notification
    let lane: Lane
    /// Its place among the jobs of its queue, in the order in which they were taken.
    var rank = 0
    /// Deliveries that were taken out of the file and have no verdict yet.
    var open = 0
    /// Deliveries that have a verdict but no outcome, and are tried again.
    private(set) var left = 0
    /// When the first of them may be tried again.
    private(set) var notBefore: Timestamp?
    /// When the last of them has expired, or is tried again if it cannot.
    private var lastEnd: Timestamp?
    /// Whether the end of this pass was handled.
    var isPassRecorded = false
    /// The damage that was found while its file was read.
    var damage: Failure?
    /// The devices that accepted a push in this pass. Recorded only if ``isForPlayer``.
    var reached: [DeviceToken] = []
    /// The devices that may have accepted a push without an answer, and that are sent nothing more. Recorded
    /// only if ``isForPlayer``.
    var doubtful: [DeviceToken] = []
    /// How many alerts its pushes have brought to listeners of sessions that are not recorded yet.
    var unrecordedAlerts = 0
    /// Whether a push without an answer may have arrived at a device that is sent nothing more.
    var isInDoubt = false
    /// If the message changes badges: the users of devices that ended in this pass without accepting it for
    /// them, and how many devices ended without accepting it for anybody.
    private(set) var missed: (users: Set<UserID>, devices: Int) = ([], 0)
    /// How many games waited when it was queued, by its badge.
    let queuedGames: Int64?
    /// Whether an earlier drainer began this pass and reached devices that are not in ``reached``.
    let wasReached: Bool
    /// Whether a push service refused it for a device.
    var isRefused = false
    /// The content of its turn notice, and when that was decided.
    var notice: (filling: NoticeFilling, at: Instant)?
    /// The messages of its release that its push shows, and those that they replace; `nil` if it was not loaded.
    var release: (shown: [HeldMessage], hidden: [HeldMessage])?
    /// How much its release has of its newest message.
    private(set) var extent = MergedMessages.Extent.all
    /// The messages of its release that are left to be removed; `nil` before its end.
    var unremoved: [HeldMessage]?
    /// Whether the user's document no longer names it as the push that brings the badge.
    var isBadgeTaken = false
    /// Whether its session sends another notification's state instead of its own.
    var isReplaced = false
    /// Whether its session's document needs no further record of this pass's attempt.
    var isAttemptRecorded = false
    /// By device, how many games of its other users are included in the number on its icon.
    var others: [DeviceToken: [(user: UserID, waiting: Int64)]] = [:]
    /// The series that orders its pushes among others.
    var series: Series? { notification.series }
    /// The groups that it has joined, one for each key of its series.
    var groups: [SeriesGroup<PushQueue.Entry>] = []
    /// For a large notification: the boxes in which an earlier drainer may have left it; `nil` until they are
    /// read.
    var heldBoxes: Set<String>?
    /// The provider's encoding of its content, to be used for all devices; `nil` once the content changes.
    var encoded: AnyObject?
    /// The language of its content, if that was chosen for its only device.
    private(set) var language: LanguageTag?
    /// Its content for readers of several languages, by the languages.
    private var variants: [String: Variant] = [:]

    /// How many of its pushes may leave in a minute.
    let throttle: Throttle?
    /// Deliveries of a throttled job that were taken out of the file and came back.
    var again = Deque<Delivery>()
    /// When its pass began.
    let began = Instant.now
    /// Whether its pass ends before its file does. The rest goes on in another pass.
    private(set) var isCutShort = false

    /// Ends its pass once the deliveries that were taken out of the file have their verdicts.
    func cutShort() { isCutShort = true }

    /// A message's content for readers of a language.
    final class Variant {
        let push: PushContent
        /// The language of its main text.
        let language: LanguageTag?
        /// The provider's encoding of it.
        var encoded: AnyObject?

        init(_ push: PushContent, _ language: LanguageTag?) {
            self.push = push
            self.language = language
        }
    }

    init(_ file: SpoolFile, _ lane: Lane, _ throttle: Throttle? = nil) {
        self.throttle = throttle
        self.file = file
        notification = file.notification
        self.lane = lane
        wasReached = file.isReachedInPass
        queuedGames = notification.push.payload.badge
    }

    /// Whether it notifies a player of turns or corrects their number.
    var isForPlayer: Bool { notification.turns != nil || notification.cargo == .turnBadge }

    /// Whether it changed the number on icons, or may have.
    var changesIcons: Bool { !reached.isEmpty || !doubtful.isEmpty || wasReached }

    /// How many games wait, by its notice; `nil` if it has none.
    var waitingGames: Int64? {
        if case .turns(let waiting, _) = notice?.filling { waiting } else { nil }
    }

    /// Counts a device that ended without accepting the message.
    func miss(_ push: Push) throws(Failure) {
        guard let user = file.user(of: push.delivery) else { return }
        try missOthers(of: push)
        missed.users.insert(user)
        missed.devices += 1
    }

    /// Records the other users of a push's device: at an earlier attempt, the message may have been counted in the
    /// badge of one of them.
    func missOthers(of push: Push) throws(Failure) {
        for delivery in try [push.original] + file.alternates(to: push.original) {
            guard let user = file.user(of: delivery), user != file.user(of: push.delivery) else {
                continue
            }
            missed.users.insert(user)
        }
    }

    /// How many devices have ended without accepting it, in all passes.
    var missedDevices: Int {
        Outcome.all.filter { $0 != .accepted && $0 != .held }.reduce(0) { $0 + file.count($1) }
    }

    /// Replaces its content.
    ///
    /// - Parameter language: the language of its text, if that was chosen for the device.
    func load(_ content: PushContent, expires: Timestamp, in language: LanguageTag? = nil) {
        file.load(content, expires: expires)
        notification = file.notification
        encoded = nil
        variants = [:]
        self.language = language
    }

    /// The message with its texts for a reader of a language, which is `nil` if it is not known.
    func variant(for language: LanguageTag?) throws(Failure) -> Variant {
        let chosen = notification.push.translations.chosen(for: language)
        let key = chosen.map { $0.text.language.text }.joined(separator: " ")
        if let known = variants[key] { return known }
        let (content, shown) = notification.push.translated(for: language)
        let variant = Variant(try content.fitting(notification.badge), shown)
        variants[key] = variant
        return variant
    }

    /// Extends its expiration to that of messages held until a moment.
    func prolong(for messages: [Notification], heldUntil moment: Timestamp) {
        let end = messages.map { $0.end(heldUntil: moment) }.max()
        guard let end, end > notification.expires else { return }
        file.load(notification.push, expires: end)
        notification = file.notification
    }

    /// Makes its release smaller, so that no message is lost because another one is too large.
    ///
    /// - Returns: `false` if that is not possible.
    func shrinkRelease() -> Bool {
        guard let release, release.shown.count > 1, let smaller = extent.smaller else {
            return false
        }
        extent = smaller
        return true
    }

    var isPassOver: Bool { open == 0 && (file.isExhausted || isCutShort || damage != nil) }

    /// Whether deliveries are left for another pass.
    var hasRest: Bool { left > 0 || isCutShort && !file.isExhausted }

    /// When its rest is looked at again: once the first delivery may be tried again, or all have expired.
    var nextLook: Timestamp? { notBefore.map { min($0, lastEnd ?? $0) } }

    /// Whether deliveries that have failed wait to be tried again now.
    func isRetryDue(at now: Timestamp) -> Bool { notBefore.map { $0 <= now } ?? false }

    /// The last reason for each outcome; for `nil`, why deliveries are tried again.
    private var reasons: [Outcome?: String] = [:]

    /// Records the reason for an outcome; for `nil`, why a delivery is tried again.
    func record(_ reason: String?, for outcome: Outcome?) {
        if let reason { reasons[outcome] = reason }
    }

    /// Its outcomes so far, such as `0 accepted, 1 quarantined (BadDeviceToken)`.
    var outcomes: String {
        let parts = Outcome.all.filter { $0 == .accepted || file.count($0) > 0 }.map { outcome in
            let reason = outcome == .accepted ? nil : reasons[outcome]
            return "\(file.count(outcome)) \(outcome.rawValue)" + (reason.map { " (\($0))" } ?? "")
        }
        return parts.joined(separator: ", ")
    }

    /// Its outcomes so far, and why the rest is tried again, such as `2 to retry (TooManyRequests)`.
    var retries: String {
        let done = Outcome.all.contains { file.count($0) > 0 } ? "\(outcomes), " : ""
        return "\(done)\(left) to retry (\(reasons[nil] ?? "not sent"))"
    }

    /// Counts a delivery that is tried again, not before a moment.
    ///
    /// - Parameter end: when it expires before that; `nil` if it does not.
    func retry(notBefore moment: Timestamp, orEndAt end: Timestamp?, because reason: String?) {
        record(reason, for: nil)
        lastEnd = max(lastEnd ?? end ?? moment, end ?? moment)
        left += 1
        notBefore = min(notBefore ?? moment, moment)
    }
}
