import Gateways
import HTTP2
import PushServices
import Turnstone
import Unix

/// Sends messages to Firebase Cloud Messaging, over as many connections as the waiting messages need.
///
///     while sender.room > 0, let push = … { sender.submit(push.request, for: push) }
///     for settled in try sender.step(pause: .milliseconds(100)) { settle(settled.push, settled.verdict) }
///
/// To use verdicts as soon as they arrive, call the parts of a step: ``exchange()`` and ``wait(upTo:)``.
///
/// To end: submit no more, continue until ``backlog`` is 0, then ``close()``. To end quickly, call
/// ``giveBackUnsent(_:)`` first: messages in flight still get their verdicts.
///
/// Only the resolver may make a call wait, when a connection is opened. The access token is fetched step by
/// step with everything else.
package final class FCMSender: PushSender {
    /// A push with its verdict. `push` is the object that was passed to ``submit(_:for:)``.
    package typealias Settled = SettledPush<FCMVerdict>
    package typealias Trouble = GatewayTrouble

    private typealias Item = PendingPushes<FCMRequest, FCMVerdict>.Item

    private let settings: FCMSettings
    private let path: String
    private let context: TLSContext
    private let limits: ClientLimits
    private let tokens: AccessTokens
    /// The wall clock.
    private let clock: () -> Timestamp
    private var links: [FCMLink] = []
    private var retry = Reconnection()
    private var pending = PendingPushes<FCMRequest, FCMVerdict>()
    /// For each device with pushes under way, how many these are, and the connection that has them. Its further
    /// pushes take the same one, because pushes on several connections may overtake each other.
    private var underWay: [DeviceToken: (link: FCMLink, count: Int)] = [:]
    private var pace: FCMPace
    private var fields = HeaderFields()
    /// The number of the newest token that FCM has accepted.
    private var acceptedToken = 0
    /// When the next exchange is due even if nothing arrives.
    private var deadline = Instant.last

    /// The number of messages that may wait here for room in the server's windows, so that the caller
    /// prepares them while the server works.
    private static let maximumWaiting = 256
    /// The number of streams that a further connection is expected to allow. FCM announces 100 streams.
    private static let expectedStreams = 100

    /// - Throws: a failure if the certificates to trust (`FCM_CA_FILE`) cannot be read.
    package init(
        _ settings: FCMSettings, limits: ClientLimits = ClientLimits(), store: AccessTokenStore
    ) throws(Failure) {
        self.settings = settings
        self.limits = limits
        path = "/v1/projects/\(settings.account.projectID)/messages:send"
        context = try .client(authorities: settings.authorities)
        tokens = try AccessTokens(settings.account, context, store)
        clock = store.now
        pace = FCMPace(limit: settings.messagesPerMinute, now: Instant.now)
    }

    /// The number of messages without a verdict.
    package var backlog: Int { pending.backlog }

    /// The number of connections that are open or being opened.
    package var connections: Int { links.count { !$0.isEnding } }

    /// The number of messages that should be submitted now. More would wait here, where urgent ones cannot
    /// overtake them.
    package var room: Int {
        if trouble != nil { return 0 }
        // The first message opens the connection, and proves the token.
        guard tokens.bearer != nil, isProven, links.contains(where: { $0.isOpen }) else {
            return max(0, 1 - backlog)
        }
        var capacity = Self.maximumWaiting
        for link in links { capacity += link.room }
        // So many must wait that a further connection is worth while.
        let unopened = settings.connections - connections
        capacity += unopened * Self.expectedStreams
        return max(0, capacity - pending.waiting)
    }

    /// The trouble while FCM cannot be reached, or no access token is available.
    package var trouble: Trouble? {
        if let trouble = tokens.trouble, trouble.until > Instant.now { return trouble }
        guard connections == 0, retry.isFailing, retry.nextAttempt > Instant.now else { return nil }
        return Trouble(reason: retry.reason, until: retry.nextAttempt)
    }

    /// - Parameter push: returned with the verdict.
    package func submit(_ request: FCMRequest, for push: AnyObject) {
        pending.append(request, for: push)
    }

    /// Gives each message that has not been sent the verdict ``FCMOutcome/notSent``.
    package func giveBackUnsent(_ reason: String) { pending.settleUnsent(.notSent(reason)) }

    /// Ends the connections. Messages in flight get the verdict ``FCMOutcome/noVerdict``, which
    /// ``exchange()`` returns.
    package func close() {
        for link in links {
            link.connection.close()
            takeEvents(of: link)
        }
        links = []
        giveBackUnsent("closed")
    }

    /// Sends and receives.
    ///
    /// - Parameter pause: the longest time to wait for something to arrive. A signal ends the wait.
    /// - Returns: the pushes that got their verdict.
    /// - Throws: a failure if the shared record of the access token cannot be used.
    package func step(pause: Interval) throws(Failure) -> [Settled] {
        let settled = try exchange()
        guard settled.isEmpty else { return settled }
        wait(upTo: pause)
        return try exchange()
    }

    /// Waits until something arrives or the next exchange is due, at most for `pause`.
    package func wait(upTo pause: Interval) {
        let now = Instant.now
        let connections = links.map(\.connection) + [tokens.connection].compactMap { $0 }
        ClientConnection.wait(
            for: connections, upTo: max(.seconds(0), min(deadline, now + pause) - now))
    }

    /// Sends and receives everything that is possible without waiting.
    ///
    /// - Returns: the pushes that got their verdict.
    /// - Throws: a failure if the shared record of the access token cannot be used.
    package func exchange() throws(Failure) -> [Settled] {
        let now = Instant.now
        deadline = .last
        for link in links {
            deadline = min(deadline, link.connection.step(now: now))
            takeEvents(of: link)
        }
        removeClosed(now: now)
        do throws(Failure) {
            try tokens.step(isNeeded: pending.waiting > 0, until: &deadline, now: now)
            if pending.waiting > 0 { send(now: now) }
        } catch {
            // If there are verdicts, the next call meets the failure again.
            let settled = pending.takeSettled()
            if settled.isEmpty { throw error }
            return settled
        }
        return pending.takeSettled()
    }

    // MARK: Sending

    /// Whether FCM has accepted the present token.
    private var isProven: Bool { acceptedToken == tokens.number && acceptedToken > 0 }

    private func send(now: Instant) {
        // The pushes go back to the caller, who can keep them on disk for longer.
        if let trouble = tokens.trouble { return giveBackUnsent(trouble.reason) }
        guard let bearer = tokens.bearer else { return }
        if connections == 0 { open(now: now) }
        pace.spend(submit(upTo: min(pace.allowed(now: now), provenLimit), bearer, now: now))
        if pending.waiting > 0, pace.allowed(now: now) < 1 {
            deadline = min(deadline, pace.next)
        } else {
            for _ in 0..<missingLinks { open(now: now) }
        }
    }

    /// A token goes with one message first, over all connections, until FCM has accepted it.
    private var provenLimit: Int { isProven ? .max : max(0, 1 - pending.inFlight) }

    /// - Returns: the number of pushes that were sent.
    private func submit(upTo count: Int, _ bearer: String, now: Instant) -> Int {
        var sent = 0
        // Those that wait for room on the connection that has their device's last push.
        var passedOver: [Item] = []
        var free = links.filter { $0.room > 0 }
        while sent < count, let first = free.first, let item = pending.popFirst() {
            let own = underWay[item.request.token]?.link
            guard own == nil || free.contains(where: { $0 === own }) else {
                passedOver.append(item)
                continue
            }
            let link = own ?? first
            let isTaken = submit(item, on: link, bearer, now: now)
            if isTaken { sent += 1 } else { pending.putBack(item) }
            if !isTaken || link.room == 0 { free.removeAll { $0 === link } }
        }
        for item in passedOver { pending.putBack(item) }
        // The caller may take a while to record verdicts before the next step.
        if sent > 0 { for link in links { link.connection.flush() } }
        return sent
    }

    private func submit(
        _ item: Item, on link: FCMLink, _ bearer: String, now: Instant
    ) -> Bool {
        let request = item.request
        // If there is no room for it, there is none until the server's window opens.
        link.lastSize = max(1, request.body.count)
        writeFields(bearer, length: request.body.count)
        guard
            link.connection.submit(tag: pending.nextTag, fields, body: request.body, now: now)
        else { return false }
        var item = item
        item.credential = tokens.number
        pending.keepSent(item)
        underWay[request.token, default: (link, 0)].count += 1
        return true
    }

    /// Takes a push that was sent, because its request has an outcome.
    private func takeSent(_ tag: Int) -> Item {
        let item = pending.takeSent(tag)
        let token = item.request.token
        if let (link, count) = underWay[token] {
            underWay[token] = count > 1 ? (link, count - 1) : nil
        }
        return item
    }

    /// Only the length differs from message to message, so the rest is indexed (RFC 7541): the bearer alone
    /// has a thousand bytes. Without `accept-encoding`, most answers come as they are.
    private func writeFields(_ bearer: String, length: Int) {
        fields.removeAll()
        fields.append(":method", "POST")
        fields.append(":scheme", "https")
        fields.append(":authority", settings.address.authority)
        fields.append(":path", path)
        fields.append("authorization", bearer)
        fields.append("content-type", "application/json")
        fields.append("content-length", String(length), indexed: false)
    }

    // MARK: Connections

    /// The number of further connections that the waiting messages need, if every connection has as many as
    /// it takes. They are opened at the same time, because each takes several round trips.
    private var missingLinks: Int {
        let unopened = settings.connections - connections
        guard pending.waiting > 0, unopened > 0 else { return 0 }
        guard connections > 0 else { return 1 }
        guard isProven, links.allSatisfy({ $0.room == 0 }) else { return 0 }
        let coming = links.count { $0.isConnecting } * Self.expectedStreams
        let missing = pending.waiting - coming
        return min(unopened, max(0, missing + Self.expectedStreams - 1) / Self.expectedStreams)
    }

    private func open(now: Instant) {
        guard retry.nextAttempt <= now else {
            if connections == 0, retry.isFailing { giveBackUnsent(retry.reason) }
            deadline = min(deadline, retry.nextAttempt)
            return
        }
        let address = settings.address
        do throws(Failure) {
            let connection = try ClientConnection(
                to: address.host, port: address.port, context, limits: limits, now: now)
            links.append(FCMLink(connection, opened: now, isProven: isProven))
            deadline = min(deadline, connection.step(now: now))
        } catch { didFail(error.sentence, now: now) }
        removeClosed(now: now)
    }

    private func didFail(_ reason: String, now: Instant) {
        retry.didFail(reason, now: now)
        if connections == 0 { giveBackUnsent(reason) }
    }

    private func removeClosed(now: Instant) {
        for (index, link) in links.enumerated().reversed() {
            guard case .closed(let reason) = link.connection.state else { continue }
            takeEvents(of: link)
            links.remove(at: index)
            guard link.hasAnswer else {
                let isSentAway = link.connection.goAway != nil
                retry.didEndUnanswered(
                    reason, isSentAway: isSentAway, opened: link.opened, now: now)
                if connections == 0, retry.isFailing { giveBackUnsent(reason) }
                continue
            }
            // Several connections may end together without an answer in between.
            retry.didSucceed()
            retry.didEnd(reason, now: now)
        }
    }

    // MARK: Answers

    private func takeEvents(of link: FCMLink) {
        let events = link.connection.takeEvents()
        guard !events.isEmpty else { return }
        let moment = clock()
        for event in events {
            switch event {
            case .answered(let tag, let answer):
                link.hasAnswer = true
                retry.didSucceed()
                settle(FCMVerdict(answer, now: moment), of: takeSent(tag), on: link)
            case .refused(let tag):
                link.window.shrink()
                pending.sendAgain(takeSent(tag), orElse: .notSent("refused by the server"))
            case .lost(let tag, let reason):
                pending.settle(takeSent(tag), .noAnswer(reason))
            }
        }
    }

    private func settle(_ verdict: FCMVerdict, of item: Item, on link: FCMLink) {
        link.window.adapt(to: verdict.outcome.sign)
        if verdict.outcome.sign == .good { acceptedToken = max(acceptedToken, item.credential) }
        switch verdict.outcome {
        case .renewToken:
            // Others that were sent with the same token are refused, too. The next token is not concerned.
            if item.credential == tokens.number, tokens.bearer != nil { tokens.reject() }
            pending.sendAgain(item, orElse: .notSent(verdict.reason ?? "HTTP 401"))
        case .stopQueue:
            pending.settle(item, verdict)
            giveBackUnsent("stopped after \(verdict.reason ?? "")")
        default: pending.settle(item, verdict)
        }
    }
}

extension FCMOutcome {
    /// The meaning of an answer for the connection. FCM judges a message only if it accepts the token.
    fileprivate var sign: SendingWindow.Sign {
        switch self {
        case .accepted, .gone, .mismatched, .badToken, .foreign, .refused: .good
        case .later, .laterAsAsked: .bad
        case .stopQueue, .renewToken, .noVerdict, .notSent: .none
        }
    }
}
