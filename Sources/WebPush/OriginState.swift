import DequeModule
import Turnstone

/// The state of one push service, and the messages that wait for it.
///
/// Each origin has a window and pauses of its own, so that a slow, deaf or broken one delays no other.
final class OriginState {
    struct Item {
        let request: WebPushRequest
        let push: AnyObject
        /// How many times it was sent again because the push service had not processed it.
        var retries = 0
    }

    let origin: String
    let mayBePrivate: Bool
    var waiting: Deque<Item> = []
    var inFlight = 0
    private(set) var window = OriginWindow()
    /// The number of messages sent over the present connection, and whether one was answered.
    private var sentOnConnection = 0
    private var isConnectionProven = false

    /// The header `authorization`, and when the shared token was last asked for.
    private(set) var bearer = ""
    private(set) var bearerAsked = Instant.first
    /// How many subscriptions in a row were refused with the present token, none having been accepted.
    private var denials = 0
    private var hasAccepted = false

    /// The end of the pause, and its reason.
    private(set) var pausedUntil = Instant.first
    private(set) var pauseReason = ""
    private var failures = 0
    /// How many times in a row it asked for a pause or was out of order.
    private var complaints = 0
    /// When the last answer came, or when the first unanswered message was sent.
    private var lastProgress = Instant.first

    init(_ origin: String, mayBePrivate: Bool) {
        self.origin = origin
        self.mayBePrivate = mayBePrivate
    }

    var backlog: Int { waiting.count + inFlight }

    /// The number of waiting messages that may be sent now.
    func room(at now: Instant) -> Int {
        if isPaused(at: now) { return 0 }
        // The first and the last message of a connection are sent alone.
        let left = Self.connectionLimit - 1 - sentOnConnection
        guard isConnectionProven, left > 0 else { return inFlight == 0 ? 1 : 0 }
        return max(0, min(window.size - inFlight, left))
    }

    /// The number of messages that are sent over one connection.
    ///
    /// libcurl 7.88 resets each stream after its end, and servers take many resets for an attack: nghttp2
    /// ends the connection after the 1000th, with answers that nobody has read. So we end it before.
    private static let connectionLimit = 900

    func isPaused(at now: Instant) -> Bool { now < pausedUntil }

    /// Whether it takes so long to answer that messages to it should not wait here, where they would take the
    /// place of others.
    func isStalled(at now: Instant) -> Bool {
        isPaused(at: now) || (inFlight > 0 && now - lastProgress > Self.patience)
    }

    /// How long a message should wait on disk.
    func pause(at now: Instant) -> Interval {
        if isPaused(at: now) { return pausedUntil - now }
        // The longer it has been silent, the longer.
        return min(max(now - lastProgress, .seconds(1)), .minutes(1))
    }

    func pauseReason(at now: Instant) -> String {
        isPaused(at: now) ? pauseReason : WebPushVerdict.slow
    }

    /// A push service on another continent answers in a third of that, the first connection included.
    private static let patience = Interval.seconds(1)

    // MARK: What happens

    /// Whether the next message is the last one of its connection, which ends with it.
    var endsConnection: Bool { sentOnConnection >= Self.connectionLimit - 1 }

    func didSend(at now: Instant) {
        if inFlight == 0 { lastProgress = now }
        inFlight += 1
        sentOnConnection += 1
        if sentOnConnection >= Self.connectionLimit { beginConnection() }
    }

    private func beginConnection() {
        sentOnConnection = 0
        isConnectionProven = false
    }

    /// Records an answer.
    ///
    /// - Parameter isMultiplexed: whether it came over HTTP/2.
    func didAnswer(_ outcome: WebPushOutcome, isMultiplexed: Bool, at now: Instant) {
        inFlight -= 1
        lastProgress = now
        failures = 0
        isConnectionProven = sentOnConnection > 0
        window.adapt(to: outcome, isMultiplexed: isMultiplexed)
        switch outcome {
        case .accepted, .gone:
            complaints = 0
            if outcome == .accepted {
                hasAccepted = true
                denials = 0
            }
        case .laterAsAsked(let interval): complain(interval, now)
        case .later(let interval): complain(interval, now)
        case .refused, .unusable, .originPaused, .noVerdict, .notSent: break
        }
    }

    /// One browser's messages may be too many, or one server of the push service may be ill. Five complaints
    /// in a row concern all messages.
    private func complain(_ interval: Interval, _ now: Instant) {
        complaints += 1
        if complaints >= 5 {
            pause("it answered 429 or 5xx", min(interval, .minutes(10)), now: now)
        }
    }

    /// Records that a message went out and no answer came.
    func didLose(at now: Instant) {
        inFlight -= 1
        window.shrink()
        if inFlight == 0 { beginConnection() }
    }

    /// Records a failure to connect. The pause doubles with each, from one second up to a minute.
    func didFail(_ reason: String, at now: Instant) {
        inFlight -= 1
        window = OriginWindow()
        beginConnection()
        // The others that waited for this connection fail with it.
        guard !isPaused(at: now) else { return }
        pause(reason, .seconds(min(60, 1 << Int64(min(failures, 6)))), now: now)
        failures += 1
    }

    func pause(_ reason: String, _ interval: Interval, now: Instant) {
        pauseReason = reason
        pausedUntil = max(pausedUntil, now + interval)
    }

    // MARK: The token

    func take(bearer: String, at now: Instant) {
        if bearer != self.bearer {
            denials = 0
            hasAccepted = false
        }
        self.bearer = bearer
        bearerAsked = now
    }

    /// Records that a message was refused because of the token, and decides whether that concerns all
    /// messages. One subscription that was made with another key must not stop the others.
    func deny() -> Bool {
        denials += 1
        return !hasAccepted && denials >= 3
    }
}
