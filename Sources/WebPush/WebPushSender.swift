import Gateways
import PushServices
import Turnstone
import Unix

/// Pushes to browsers through any number of push services, in one loop. Each message gets exactly one
/// verdict.
///
///     while sender.room > 0, let push = … { sender.submit(push.request, for: push) }
///     for settled in try sender.exchange() { settle(settled.push, settled.verdict) }
///     sender.wait(upTo: .milliseconds(100))
///
/// To end: submit no more, continue until ``backlog`` is 0, then ``close()``. To end quickly, call
/// ``giveBackUnsent(_:)`` first: messages in flight still get their verdicts.
package final class WebPushSender: PushSender {
    /// Returns the token for an origin that all processes share. `rejected` is the header that the push
    /// service refused, if any.
    package typealias TokenSource =
        (_ origin: String, _ rejected: String?) throws(Failure) -> VAPIDToken

    /// A message with its verdict. `push` is the object that was passed to ``submit(_:for:)``.
    package typealias Settled = SettledPush<WebPushVerdict>

    /// The reason why nothing can be pushed to an origin now, and the time of the next attempt. `nil` as the
    /// origin would mean all of them.
    package struct Trouble: Equatable, Sendable {
        package let origin: String
        package let reason: String
        package let until: Instant
    }

    private let settings: WebPushSettings
    private let token: TokenSource
    private let isVouchedFor: Bool
    private let clock: () -> Timestamp
    private let pool: PushPool
    private let encryption: MessageEncryption
    private var origins: [String: OriginState] = [:]
    private var settled: [Settled] = []

    /// The most messages that wait here or are in flight, those to stalled origins left out.
    private static let capacity = 1024

    /// - Parameters:
    ///   - connectPatience: the longest time that a connection with its TLS handshake may take.
    ///   - patience: the longest time that a message may take, with the connection.
    ///   - isVouchedFor: whether messages were accepted under these settings in earlier runs.
    ///   - clock: the wall clock.
    ///   - token: called for each origin, and once a minute while there is something to send.
    /// - Throws: a failure if libcurl or OpenSSL has no memory.
    package init(
        _ settings: WebPushSettings, connectPatience: Interval = .seconds(8),
        patience: Interval = .seconds(30), isVouchedFor: Bool = false,
        clock: @escaping () -> Timestamp = { .systemNow },
        token: @escaping TokenSource
    ) throws(Failure) {
        self.settings = settings
        self.token = token
        self.isVouchedFor = isVouchedFor
        self.clock = clock
        pool = try PushPool(
            authorities: settings.authorities, connectPatience: connectPatience,
            patience: patience)
        encryption = try MessageEncryption()
    }

    /// The number of messages without a verdict.
    package var backlog: Int {
        origins.values.reduce(settled.count) { $0 + $1.backlog }
    }

    /// The number of messages that should be submitted now, to any origins.
    ///
    /// Messages to an origin that is paused or does not answer do not count: it gets no more than its own
    /// share. So only the others decide, and among them the one with the longest queue.
    package var room: Int {
        let now = Instant.now
        var room = OriginState.capacity
        var backlog = 0
        for origin in origins.values where !origin.isStalled(at: now) {
            room = min(room, OriginState.capacity - origin.backlog)
            backlog += origin.backlog
        }
        return max(0, min(room, Self.capacity - backlog - settled.count))
    }

    /// Why nothing at all can be pushed now. That cannot be known: the next message may go to an origin that
    /// works. ``troubles`` has the origins that do not.
    package var trouble: Trouble? { nil }

    /// The origins to which nothing can be pushed now, in their alphabetical order.
    package var troubles: [Trouble] {
        let now = Instant.now
        return origins.values.filter { $0.isPaused(at: now) }
            .map { Trouble(origin: $0.origin, reason: $0.pauseReason, until: $0.pausedUntil) }
            .sorted { $0.origin < $1.origin }
    }

    /// Takes a message. If its origin is paused, or its recipient's earlier messages get no answer, it comes
    /// back with the next exchange.
    ///
    /// - Parameter push: returned with the verdict.
    package func submit(_ request: WebPushRequest, for push: AnyObject) {
        let endpoint = request.subscription.endpoint
        guard settings.hosts.allow(endpoint) else {
            // It was allowed when the browser was registered, so it may be again.
            let reason = "\(endpoint.origin) is not in WEBPUSH_HOSTS"
            return settle(push, WebPushVerdict(reason: reason, .originPaused(.minutes(1))))
        }
        let origin = state(of: endpoint)
        if let postponement = origin.postponement(to: request, at: .now) {
            return settle(push, WebPushVerdict(postponement))
        }
        origin.append(OriginState.Item(request: request, push: push))
    }

    private func state(of endpoint: PushEndpoint) -> OriginState {
        let origin = endpoint.origin
        if let known = origins[origin] { return known }
        let made = OriginState(
            origin, mayBePrivate: settings.hosts.mayBePrivate(endpoint), isVouchedFor: isVouchedFor)
        origins[origin] = made
        return made
    }

    /// Sends and receives everything that is possible without waiting.
    ///
    /// - Returns: the messages that got their verdict.
    /// - Throws: what the token source throws. If there are verdicts as well, it returns them and the next
    ///   call meets the failure again.
    package func exchange() throws(Failure) -> [Settled] {
        var failure: Failure?
        pool.sockets.gatheringWrites {
            takeAnswers()
            failure = send()
            takeAnswers()
        }
        defer { settled = [] }
        if settled.isEmpty, let failure { throw failure }
        return settled
    }

    /// Waits until something arrives or the next exchange is due, at most for `pause`.
    package func wait(upTo pause: Interval) {
        // Messages that wait for a slow origin are given back after a while.
        let isWaiting = origins.values.contains { !$0.waiting.isEmpty }
        pool.wait(
            upTo: settled.isEmpty
                ? (isWaiting ? min(pause, .milliseconds(100)) : pause) : .seconds(0))
    }

    /// Gives each message that has not been sent the verdict ``WebPushOutcome/notSent``.
    package func giveBackUnsent(_ reason: String) {
        for origin in origins.values {
            for item in origin.removeAll() {
                settle(item.push, WebPushVerdict(reason: reason, .notSent))
            }
        }
    }

    /// Ends the connections. Messages in flight get the verdict ``WebPushOutcome/noVerdict``, which the next
    /// exchange returns.
    package func close() {
        for transfer in pool.cancelAll() { lose(transfer, "closed", at: .now) }
        giveBackUnsent("closed")
    }

    // MARK: Sending

    /// - Returns: the failure of the token source, if any.
    private func send() -> Failure? {
        var failure: Failure?
        for origin in origins.values where !origin.waiting.isEmpty {
            // First: an answer may have come since they began to wait.
            for (item, postponement) in origin.removePostponed(at: .now) {
                settle(item.push, WebPushVerdict(postponement))
            }
            do throws(Failure) { try send(to: origin) } catch { failure = error }
        }
        return failure
    }

    private func send(to origin: OriginState) throws(Failure) {
        let now = Instant.now
        if origin.isHeldUp(at: now) {
            for transfer in pool.cancelAll(to: origin) { lose(transfer, "no answer", at: now) }
        }
        guard origin.room(at: now) > 0 else { return }
        if now - origin.bearerAsked >= .minutes(1) {
            origin.take(bearer: try token(origin.origin, nil).header, at: now)
        }
        let moment = clock()
        while origin.room(at: now) > 0, let item = origin.popNext(at: now) {
            do throws(Failure) { try send(item, to: origin, now, moment) } catch {
                origin.putBack(item)
                throw error
            }
        }
    }

    private func send(
        _ item: OriginState.Item, to origin: OriginState, _ now: Instant, _ moment: Timestamp
    ) throws(Failure) {
        let request = item.request
        let body = try encryption.encrypt(request.message.bytes, for: request.subscription)
        guard let body else {
            return settle(item.push, WebPushVerdict(reason: "BadPublicKey", .unusable))
        }
        let lines = origin.headerLines(of: request, at: moment)
        guard pool.start(PushTransfer(item, to: origin, over: pool.sockets, lines, body: body))
        else {
            throw Failure(.later(seconds: 5), "unable to begin a request", cause: "ENOMEM")
        }
        origin.didSend(to: request.recipient, at: now)
    }

    // MARK: Answers

    private func takeAnswers() {
        let done = pool.perform(now: clock())
        guard !done.isEmpty else { return }
        let now = Instant.now
        for (transfer, result) in done {
            let (origin, request) = (transfer.origin, transfer.item.request)
            switch result {
            case .answered(let verdict, let isMultiplexed):
                origin.didAnswer(
                    verdict.outcome, to: request, isMultiplexed: isMultiplexed, at: now)
                settle(transfer, verdict, now)
            case .failed(let reason):
                origin.didFail(reason, to: request.recipient, at: now)
                settle(transfer.item.push, paused(origin, at: now))
            case .lost(let reason): lose(transfer, reason, at: now)
            }
        }
    }

    private func lose(_ transfer: PushTransfer, _ reason: String, at now: Instant) {
        transfer.origin.didLose(to: transfer.item.request.recipient, at: now)
        settle(transfer.item.push, WebPushVerdict(reason: reason, .noVerdict))
    }

    /// Settles an answered message. One that was refused because of the token is sent again if there is
    /// another token by now.
    private func settle(_ transfer: PushTransfer, _ verdict: WebPushVerdict, _ now: Instant) {
        guard case .originPaused(let pause) = verdict.outcome else {
            return settle(transfer.item.push, verdict)
        }
        let origin = transfer.origin
        if transfer.item.retries == 0, hasOtherToken(than: transfer.bearer, origin, now) {
            var item = transfer.item
            item.retries += 1
            origin.putBack(item)
            return
        }
        origin.deny(
            verdict.reason ?? "", to: transfer.item.request.recipient, pause: pause, at: now)
        // Unless the whole origin is paused, the subscription may be at fault.
        let outcome: WebPushOutcome =
            origin.isPaused(at: now)
            ? .originPaused(origin.pausedUntil - now) : .later(pause: .minutes(1))
        settle(
            transfer.item.push,
            WebPushVerdict(status: verdict.status, reason: verdict.reason, outcome))
    }

    private func hasOtherToken(
        than rejected: String, _ origin: OriginState, _ now: Instant
    ) -> Bool {
        if origin.bearer != rejected { return true }
        do throws(Failure) {
            origin.take(bearer: try token(origin.origin, rejected).header, at: now)
        } catch { return false }
        return origin.bearer != rejected
    }

    private func paused(_ origin: OriginState, at now: Instant) -> WebPushVerdict {
        WebPushVerdict(
            reason: origin.pauseReason,
            .originPaused(max(.milliseconds(1), origin.pausedUntil - now)))
    }

    private func settle(_ push: AnyObject, _ verdict: WebPushVerdict) {
        settled.append(Settled(push: push, verdict: verdict))
    }
}
