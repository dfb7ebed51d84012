import Gateways
import HTTP2
import PushServices
import Turnstone
import Unix

/// Pushes to one of APNs' two environments, over one connection at a time.
///
/// It connects when there is something to push, and again after a connection ends. It sends pushes again that
/// APNs certainly has not processed. Each push gets exactly one verdict.
package final class APNsGateway {
    /// Returns the provider token that all processes share, and renews it if
    /// ``ProviderToken/decide(_:for:rejected:now:)`` says so.
    ///
    /// `rejected` is the text of the token that APNs rejected as expired, if any.
    package typealias TokenSource = (_ rejected: String?) throws(Failure) -> ProviderToken

    /// A push with its verdict. `push` is the object that was passed to ``submit(_:for:)``.
    package typealias Settled = SettledPush<APNsVerdict>
    package typealias Trouble = GatewayTrouble

    private typealias Item = PendingPushes<APNsRequest, APNsVerdict>.Item

    private let address: APNsSettings.Address
    private let context: TLSContext
    private let limits: ClientLimits
    private let token: TokenSource
    /// The wall clock.
    private let clock: () -> Timestamp
    var connection: ClientConnection?
    private var window = SendingWindow()
    private var retry = Reconnection()
    private var bearer = ProviderBearer()

    private var pending = PendingPushes<APNsRequest, APNsVerdict>()
    private var fields = HeaderFields()
    /// The size of the last body in bytes, as an estimate for the next ones.
    private var lastSize = 300

    package init(
        _ address: APNsSettings.Address, _ context: TLSContext,
        limits: ClientLimits = ClientLimits(), clock: @escaping () -> Timestamp,
        token: @escaping TokenSource
    ) {
        self.address = address
        self.context = context
        self.limits = limits
        self.token = token
        self.clock = clock
    }

    /// The number of pushes without a verdict.
    package var backlog: Int { pending.backlog }

    /// The number of pushes that may wait here for room in the server's window, so that the caller prepares
    /// them while the server works.
    private static let maximumWaiting = 256

    /// The number of pushes that should be submitted now. More would wait here, where urgent ones cannot
    /// overtake them.
    package var room: Int {
        if trouble != nil { return 0 }
        // The first push opens the connection.
        guard let connection, connection.state == .open else { return max(0, 1 - backlog) }
        let streams = window.size(server: connection.maximumStreams) - backlog
        let bodies = connection.credit / lastSize + Self.maximumWaiting - pending.waiting
        return max(0, min(streams, bodies))
    }

    /// The trouble while the gateway cannot be reached or rejects the newest provider token that we can have.
    package var trouble: Trouble? {
        guard connection == nil, retry.isFailing, retry.nextAttempt > Instant.now else {
            return nil
        }
        return Trouble(reason: retry.reason, until: retry.nextAttempt)
    }

    /// - Parameter push: returned with the verdict.
    package func submit(_ request: APNsRequest, for push: AnyObject) {
        pending.append(request, for: push)
    }

    /// Gives each push that has not been sent the verdict ``APNsOutcome/notSent``.
    package func giveBackUnsent(_ reason: String) {
        pending.settleUnsent(.notSent(reason))
    }

    /// Ends the connection. Pushes in flight get the verdict ``APNsOutcome/noVerdict``.
    package func close() {
        connection?.close()
        takeEvents(now: Instant.now)
        connection = nil
        giveBackUnsent("closed")
    }

    /// Does everything that can be done without waiting.
    ///
    /// - Parameter until: when this must be called again even if nothing arrives; moved to an earlier time if
    ///   necessary.
    /// - Returns: the pushes that got their verdict.
    /// - Throws: what the token source throws: nothing can be sent without a token.
    package func step(until: inout Instant) throws(Failure) -> [Settled] {
        let now = Instant.now
        if let connection {
            until = min(until, connection.step(now: now))
            takeEvents(now: now)
            checkState(of: connection, now: now)
        }
        if pending.waiting > 0 { try send(now: now, until: &until) }
        return pending.takeSettled()
    }

    // MARK: Sending

    private func send(now: Instant, until: inout Instant) throws(Failure) {
        if connection == nil {
            guard retry.nextAttempt <= now else {
                // The pushes go back to the caller, who can keep them on disk for longer.
                if retry.isFailing { giveBackUnsent(retry.reason) }
                until = min(until, retry.nextAttempt)
                return
            }
            try connect(now: now)
        }
        guard let connection, connection.state == .open, !bearer.isRejected else { return }
        bearer.refresh(now: now, token)
        let room = window.size(server: connection.maximumStreams)
        while pending.inFlight < room, let item = pending.popFirst() {
            guard submit(item, on: connection, now: now) else {
                pending.putBack(item)
                break
            }
        }
        // The caller may take a while to record verdicts before the next step.
        connection.flush()
    }

    private func connect(now: Instant) throws(Failure) {
        try bearer.renew(now: now, token)
        if bearer.isRejected {
            // APNs rejects the newest token that we can have: our clock or APNs' is wrong.
            retry.pause("ExpiredProviderToken", ProviderToken.renewalPause, now: now)
            return giveBackUnsent("ExpiredProviderToken")
        }
        window = SendingWindow()
        do throws(Failure) {
            connection = try ClientConnection(
                to: address.host, port: address.port, context, limits: limits, now: now)
        } catch {
            retry.didFail(error.sentence, now: now)
            giveBackUnsent(error.sentence)
        }
    }

    private func submit(
        _ item: Item, on connection: ClientConnection, now: Instant
    ) -> Bool {
        item.request.writeFields(&fields, authority: address.authority, bearer: bearer.text)
        let body = item.request.payload.bytes
        guard connection.submit(tag: pending.nextTag, fields, body: body, now: now) else {
            return false
        }
        lastSize = max(1, body.count)
        pending.keepSent(item)
        return true
    }

    // MARK: Answers

    private func takeEvents(now: Instant) {
        guard let events = connection?.takeEvents(), !events.isEmpty else { return }
        let moment = clock()
        for event in events {
            switch event {
            case .answered(let tag, let answer):
                retry.didSucceed()
                settle(APNsVerdict(answer, now: moment), of: pending.takeSent(tag))
            case .refused(let tag):
                window.shrink()
                pending.sendAgain(pending.takeSent(tag), orElse: .notSent("refused by the server"))
            case .lost(let tag, let reason):
                pending.settle(pending.takeSent(tag), .noAnswer(reason))
            }
        }
    }

    private func settle(_ verdict: APNsVerdict, of item: Item) {
        window.adapt(to: verdict.outcome)
        switch verdict.outcome {
        case .renewToken:
            bearer.reject()
            pending.sendAgain(item, orElse: .notSent("ExpiredProviderToken"))
        case .stopQueue where isInvalidToken(verdict) && bearer.hasOtherToken(token):
            bearer.reject()
            pending.sendAgain(item, orElse: verdict)
        case .stopQueue:
            pending.settle(item, verdict)
            giveBackUnsent("stopped after \(verdict.reason ?? "")")
        default: pending.settle(item, verdict)
        }
    }

    private func isInvalidToken(_ verdict: APNsVerdict) -> Bool {
        verdict.reason == "InvalidProviderToken"
    }

    // MARK: The connection's end

    private func checkState(of connection: ClientConnection, now: Instant) {
        switch connection.state {
        case .closed(let reason):
            retry.didEnd(reason, isSentAway: connection.goAway != nil, now: now)
            self.connection = nil
        case .open where bearer.isRejected && pending.inFlight == 0:
            // Once APNs has rejected an expired token, it rejects everything else on that connection.
            connection.close("the provider token is too old")
            retry.didEnd("ExpiredProviderToken", now: now)
            self.connection = nil
        case .connecting, .open, .ending: break
        }
    }
}

extension APNsGateway {
    /// Sends submitted pushes, and waits until something arrives for one of the gateways or the time is up.
    package static func wait(for gateways: [APNsGateway], upTo pause: Interval) {
        ClientConnection.wait(
            for: gateways.compactMap(\.connection), upTo: max(.seconds(0), pause))
    }
}
