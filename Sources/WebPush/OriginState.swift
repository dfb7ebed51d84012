import Turnstone

/// The state of one push service, and the messages that wait for it.
///
/// Each origin has a window and pauses of its own, so that a slow, deaf or broken one delays no other. Within
/// an origin, what one user's browsers answer, or do not, concerns that user: the path of an endpoint is
/// anybody's choice, and the push service's answer depends on it.
final class OriginState {
    struct Item {
        let request: WebPushRequest
        let push: AnyObject
        /// Its place in the order of submission.
        var number = 0
        /// How many times it was sent again because the push service had not processed it.
        var retries = 0
    }

    /// Why a message cannot be sent now, and how long it should wait on disk.
    struct Postponement: Equatable {
        let reason: String
        let pause: Interval
    }

    let origin: String
    let mayBePrivate: Bool
    private(set) var waiting = OriginLine()
    /// The number of messages that have waited here.
    private var submitted = 0
    private(set) var inFlight = 0
    private(set) var window = OriginWindow()
    /// The recipients with messages in flight or given up.
    private var recipients: [PushRecipient: RecipientState] = [:]
    /// The number of messages sent over the present connection, and whether one was answered.
    private var sentOnConnection = 0
    private var isConnectionProven = false

    /// The header `authorization`, and when the shared token was last asked for.
    private(set) var bearer = ""
    private(set) var bearerAsked = Instant.first
    /// The header lines of the last message.
    private var lines: HeaderLines?
    /// Whether a message was accepted under these settings, here or in an earlier run.
    private var isVouchedFor: Bool
    /// The users for whom the token was refused since a message was last accepted.
    private var denied: Set<UserID?> = []

    /// The end of the pause, and its reason.
    private(set) var pausedUntil = Instant.first
    private(set) var pauseReason = ""
    private var failures = 0
    /// The users whose messages were answered with 429 or 5xx since another answer came, and the pauses that
    /// the last of these answers asked for.
    private var complaints: [UserID?: Interval] = [:]
    /// The browsers for which the push service asked for a pause, by their endpoints.
    private var pausedBrowsers: [String: Instant] = [:]
    /// When the last answer came, or when the first unanswered message was sent.
    private var lastProgress = Instant.first
    private var lastSent = Instant.first

    /// The most messages that wait here or are in flight.
    static let capacity = 300
    /// From this many users in a row on, the same answer is taken to concern all messages.
    static let severalUsers = 3
    /// The same for refusals of our token if messages were accepted with its settings, as in `CleanUp`.
    static let manyUsers = 20
    /// Nothing more is sent once this many recipients get no answer and no other recipient does.
    static let mostSilent = 8

    /// - Parameter isVouchedFor: whether an earlier run's message was accepted under these settings.
    init(_ origin: String, mayBePrivate: Bool, isVouchedFor: Bool = false) {
        self.origin = origin
        self.mayBePrivate = mayBePrivate
        self.isVouchedFor = isVouchedFor
    }

    var backlog: Int { waiting.count + inFlight }

    /// The number of waiting messages that may be sent now.
    func room(at now: Instant) -> Int {
        if isPaused(at: now) { return 0 }
        // The first and the last message of a connection are sent alone.
        if isConnectionEnding { return inFlight == 0 ? 1 : 0 }
        let silent = silence(at: now)
        let isDoubtful = !isAnswering(at: now)
        if isDoubtful, silent.recipients >= Self.mostSilent { return 0 }
        let prompt = inFlight - silent.messages
        guard isConnectionProven else {
            // The first messages may be to browsers that do not answer. Others show whether any does.
            let probes = min(silent.recipients, Self.mostSilent - silent.recipients)
            return max(0, max(1, probes) - prompt)
        }
        let left = Self.connectionLimit - 1 - sentOnConnection
        return max(0, min(window.size - prompt, window.limit - inFlight, left))
    }

    /// The number of messages that are sent over one connection.
    ///
    /// libcurl 7.88 resets each stream after its end, and servers take many resets for an attack: nghttp2
    /// ends the connection after the 1000th, with answers that nobody has read. So we end it before.
    private static let connectionLimit = 900

    /// Whether the last message of a connection is due or in flight.
    private var isConnectionEnding: Bool {
        endsConnection || sentOnConnection == 0 && inFlight > 0
    }

    /// Whether messages that get no answer keep a connection from being replaced.
    func isHeldUp(at now: Instant) -> Bool {
        isConnectionEnding && inFlight > 0 && !waiting.isEmpty
            && now - max(lastSent, lastProgress) > .seconds(5)
    }

    func isPaused(at now: Instant) -> Bool { now < pausedUntil }

    /// Whether the push service answers, or has nothing to answer.
    private func isAnswering(at now: Instant) -> Bool {
        inFlight == 0 || now - lastProgress <= RecipientState.patience
    }

    /// The recipients that get no answers, and the number of messages in flight to them.
    private func silence(at now: Instant) -> (recipients: Int, messages: Int) {
        var silent = (recipients: 0, messages: 0)
        for recipient in recipients.values where recipient.isSilent(at: now) {
            silent.recipients += 1
            silent.messages += recipient.inFlight
        }
        return silent
    }

    /// Whether its messages wait because the push service is paused or silent, rather than for room here.
    func isStalled(at now: Instant) -> Bool {
        if isPaused(at: now) { return true }
        guard !isAnswering(at: now) else { return false }
        return !isConnectionProven || silence(at: now).messages == inFlight
    }

    /// Why a message should not wait here, where it would take the place of others; `nil` if it may.
    func postponement(to request: WebPushRequest, at now: Instant) -> Postponement? {
        if let postponement = postponement(at: now, isFull: backlog >= Self.capacity) {
            return postponement
        }
        return postponement(to: request.recipient, request.subscription.endpoint, at: now)
    }

    private func postponement(at now: Instant, isFull: Bool = false) -> Postponement? {
        if isPaused(at: now) { return Postponement(reason: pauseReason, pause: pausedUntil - now) }
        guard isStalled(at: now) else { return nil }
        guard isFull || silence(at: now).recipients >= Self.mostSilent else { return nil }
        return Postponement(reason: WebPushVerdict.slow, pause: pause(since: lastProgress, now))
    }

    private func postponement(
        to recipient: PushRecipient, _ endpoint: PushEndpoint, at now: Instant
    ) -> Postponement? {
        if let end = pausedBrowsers[endpoint.text], now < end {
            return Postponement(reason: WebPushVerdict.pausedBrowser, pause: end - now)
        }
        guard let state = recipients[recipient], state.isSilent(at: now) else { return nil }
        return Postponement(
            reason: WebPushVerdict.unanswered, pause: pause(since: state.lastProgress, now))
    }

    /// A pause as long as the silence so far, from a second to a minute.
    private func pause(since last: Instant, _ now: Instant) -> Interval {
        min(max(now - last, .seconds(1)), .minutes(1))
    }

    // MARK: Waiting

    func append(_ item: Item) {
        var item = item
        item.number = submitted
        submitted += 1
        waiting.append(item)
    }

    func putBack(_ item: Item) { waiting.putBack(item) }

    /// The next message to send if there is room.
    func popNext(at now: Instant) -> Item? {
        waiting.popFirst {
            guard let state = recipients[$0] else { return true }
            return !state.isSilent(at: now) && state.inFlight < window.share
        }
    }

    func removeAll() -> [Item] { waiting.removeAll() }

    /// Removes the messages that should not wait here.
    func removePostponed(at now: Instant) -> [(item: Item, postponement: Postponement)] {
        if let postponement = postponement(at: now) {
            return waiting.removeAll().map { ($0, postponement) }
        }
        guard !pausedBrowsers.isEmpty || silence(at: now).recipients > 0 else { return [] }
        var removed: [(Item, Postponement)] = []
        for item in waiting.removeAll() {
            let request = item.request
            if let postponement = postponement(
                to: request.recipient, request.subscription.endpoint, at: now)
            {
                removed.append((item, postponement))
            } else {
                waiting.append(item)
            }
        }
        return removed
    }

    /// The header lines of a message that is sent now.
    func headerLines(of request: WebPushRequest, at now: Timestamp) -> HeaderLines {
        let message = request.message
        let values = HeaderLines.Values(
            bearer: bearer, ttl: request.ttl(at: now), urgency: message.urgency,
            topic: message.topic)
        if let lines, lines.values == values { return lines }
        let made = HeaderLines(values)
        lines = made
        return made
    }

    // MARK: What happens

    /// Whether the next message is the last one of its connection, which ends with it.
    var endsConnection: Bool { sentOnConnection >= Self.connectionLimit - 1 }

    func didSend(to recipient: PushRecipient, at now: Instant) {
        if inFlight == 0 { lastProgress = now }
        lastSent = now
        inFlight += 1
        sentOnConnection += 1
        forgetSome()
        recipients[recipient, default: RecipientState()].didSend(at: now)
        if sentOnConnection >= Self.connectionLimit { beginConnection() }
    }

    private func beginConnection() {
        sentOnConnection = 0
        isConnectionProven = false
    }

    private func change(_ recipient: PushRecipient, _ work: (inout RecipientState) -> Void) {
        guard var state = recipients[recipient] else { return }
        work(&state)
        recipients[recipient] = state.isOver ? nil : state
    }

    /// Bounds the memory: users may make up any number of endpoints.
    private func forgetSome() {
        guard recipients.count >= 500 else { return }
        recipients = recipients.filter { $0.value.inFlight > 0 }
    }

    /// Records an answer.
    ///
    /// - Parameter isMultiplexed: whether it came over HTTP/2.
    func didAnswer(
        _ outcome: WebPushOutcome, to request: WebPushRequest, isMultiplexed: Bool, at now: Instant
    ) {
        let recipient = request.recipient
        inFlight -= 1
        lastProgress = now
        failures = 0
        isConnectionProven = sentOnConnection > 0
        change(recipient) { $0.didAnswer(at: now) }
        window.adapt(to: outcome, of: recipient, isMultiplexed: isMultiplexed)
        switch outcome {
        case .accepted:
            pausedBrowsers[request.subscription.endpoint.text] = nil
            didAccept(at: now)
        case .gone: complaints = [:]
        case .laterAsAsked(let interval):
            pause(request.subscription.endpoint, until: now + interval, now: now)
            complain(interval, recipient, now)
        case .later(let interval): complain(interval, recipient, now)
        case .refused, .unusable, .originPaused, .noVerdict, .notSent: break
        }
    }

    private func didAccept(at now: Instant) {
        isVouchedFor = true
        denied = []
        complaints = [:]
        // It was sent before the pause began, which was a mistake.
        pausedUntil = min(pausedUntil, now)
    }

    /// Counts a complaint of the push service, and pauses the origin once several users in a row got one. A
    /// single user may send too much, or meet one server that is out of order.
    private func complain(_ interval: Interval, _ recipient: PushRecipient, _ now: Instant) {
        guard !isPaused(at: now) else { return }
        complaints[recipient.user] = interval
        guard complaints.count >= Self.severalUsers, let pause = complaints.values.min() else {
            return
        }
        begin("it answered 429 or 5xx", min(pause, .minutes(10)), now: now)
    }

    private func pause(_ endpoint: PushEndpoint, until end: Instant, now: Instant) {
        if pausedBrowsers.count >= 1000 {
            pausedBrowsers = pausedBrowsers.filter { $0.value > now }
        }
        guard pausedBrowsers.count < 1000 else { return }
        pausedBrowsers[endpoint.text] = end
    }

    /// Records that a message went out and no answer came.
    func didLose(to recipient: PushRecipient, at now: Instant) {
        inFlight -= 1
        // If others got answers meanwhile, this is a matter of the recipient alone.
        if let state = recipients[recipient], state.lastProgress >= lastProgress {
            window.shrink(becauseOf: recipient)
        }
        change(recipient) { $0.didLose(at: now) }
        // The connection may be gone. If it is not, it still counts its messages.
        if inFlight == 0 { isConnectionProven = false }
    }

    /// Records a failure to connect. The pause doubles with each, from one second up to a minute.
    func didFail(_ reason: String, to recipient: PushRecipient, at now: Instant) {
        inFlight -= 1
        change(recipient) { $0.didFail() }
        beginConnection()
        // The others that waited for this connection fail with it.
        guard !isPaused(at: now) else { return }
        begin(reason, .seconds(min(60, 1 << Int64(min(failures, 6)))), now: now)
        failures += 1
    }

    /// Begins a pause. After it, messages are sent one by one until one is accepted.
    private func begin(_ reason: String, _ interval: Interval, now: Instant) {
        pauseReason = reason
        pausedUntil = now + interval
        window = OriginWindow()
        complaints = [:]
        denied = []
    }

    // MARK: The token

    func take(bearer: String, at now: Instant) {
        if bearer != self.bearer { denied = [] }
        self.bearer = bearer
        bearerAsked = now
    }

    /// Records that a message was refused because of the token, and begins a pause if that concerns all
    /// messages. One user's subscriptions, made with another key or made up, must not stop the others.
    func deny(_ reason: String, to recipient: PushRecipient, pause: Interval, at now: Instant) {
        guard !isPaused(at: now) else { return }
        denied.insert(recipient.user)
        guard denied.count >= (isVouchedFor ? Self.manyUsers : Self.severalUsers) else { return }
        begin("it refuses the VAPID token: \(reason)", pause, now: now)
    }
}
