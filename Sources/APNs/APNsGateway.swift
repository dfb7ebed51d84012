import DequeModule
import HTTP2
import PushServices
import Turnstone
import Unix

/// Pushes to one of APNs' two environments, over one connection at a time.
///
/// The connection is made when there is something to push, and anew when it ends. What APNs certainly has
/// not processed is sent again by the gateway; of all else the caller hears a verdict, once.
package final class APNsGateway {
    /// Gives the provider token that all processes share, made anew where
    /// ``ProviderToken/decide(_:for:rejected:now:)`` says so.
    ///
    /// Its argument is the text that APNs called too old, if it did.
    package typealias TokenSource = (_ rejected: String?) throws(Failure) -> ProviderToken

    /// A push that has its verdict: `push` is what its request was submitted for.
    package struct Settled {
        package let push: AnyObject
        package let verdict: APNsVerdict
    }

    /// Why nothing can be pushed for now, and until when.
    package struct Trouble: Equatable, Sendable {
        package let reason: String
        package let until: Instant
    }

    private struct Item {
        let request: APNsRequest
        let push: AnyObject
        /// How often the server did not even look at it.
        var returns = 0
    }

    private let address: APNsSettings.Address
    private let context: TLSContext
    private let limits: ClientLimits
    private let token: TokenSource
    var connection: ClientConnection?
    private var window = SendingWindow()
    private var retry = Reconnection()
    private var bearer = ProviderBearer()

    private var queue = Deque<Item>()
    private var flying: [Item?] = []
    private var freePlaces: [Int] = []
    private var settled: [Settled] = []
    private var fields = HeaderFields()
    /// How long the last body was: the next ones will be alike.
    private var lastSize = 300

    package init(
        _ address: APNsSettings.Address, _ context: TLSContext,
        limits: ClientLimits = ClientLimits(),
        token: @escaping TokenSource
    ) {
        self.address = address
        self.context = context
        self.limits = limits
        self.token = token
    }

    /// Pushes without a verdict.
    package var backlog: Int { queue.count + inFlight }

    /// So many pushes may wait here for room in the server's window: while it works, the next ones are made.
    private static let ahead = 256

    /// How many more pushes are wanted now. More than that would only wait here, where nothing urgent overtakes
    /// them.
    package var room: Int {
        if trouble != nil { return 0 }
        // The first one makes the connection.
        guard let connection, connection.state == .open else { return max(0, 1 - backlog) }
        let streams = window.size(server: connection.maximumStreams) - backlog
        let bodies = connection.credit / lastSize + Self.ahead - queue.count
        return max(0, min(streams, bodies))
    }

    /// What stands in the way: the gateway cannot be reached, or refuses the newest token that we may have.
    package var trouble: Trouble? {
        guard connection == nil, retry.isFailing, retry.moment > Instant.now else {
            return nil
        }
        return Trouble(reason: retry.reason, until: retry.moment)
    }

    private var inFlight: Int { flying.count - freePlaces.count }

    /// - Parameter push: comes back with the verdict.
    package func submit(_ request: APNsRequest, for push: AnyObject) {
        queue.append(Item(request: request, push: push))
    }

    /// Gives back with ``APNsOutcome/notSent`` what has not been sent.
    package func giveBackUnsent(_ reason: String) {
        while let item = queue.popFirst() { settle(item, .notSent(reason)) }
    }

    /// Ends the connection.
    ///
    /// What is in flight has no verdict.
    package func close() {
        giveBackUnsent("closed")
        connection?.close()
        takeEvents(now: Instant.now)
        connection = nil
    }

    /// Does whatever can be done without waiting.
    ///
    /// - Parameter until: is made earlier if this must be called again earlier though nothing arrives.
    /// - Returns: the pushes that got their verdict.
    /// - Throws: what the token source throws, as nothing can be sent without a token.
    package func step(until: inout Instant) throws(Failure) -> [Settled] {
        let now = Instant.now
        if let connection {
            until = min(until, connection.step(now: now))
            takeEvents(now: now)
            checkState(of: connection, now: now)
        }
        if !queue.isEmpty { try send(now: now, until: &until) }
        defer { settled = [] }
        return settled
    }

    // MARK: Sending

    private func send(now: Instant, until: inout Instant) throws(Failure) {
        if connection == nil {
            guard retry.moment <= now else {
                // Whoever waits on disk may wait longer than we may wait here.
                if retry.isFailing { giveBackUnsent(retry.reason) }
                until = min(until, retry.moment)
                return
            }
            try connect(now: now)
        }
        guard let connection, connection.state == .open, !bearer.isRejected else { return }
        bearer.refresh(now: now, token)
        let room = window.size(server: connection.maximumStreams)
        while inFlight < room, let item = queue.popFirst() {
            guard fly(item, on: connection, now: now) else {
                queue.prepend(item)
                break
            }
        }
        // Whoever has verdicts to note may take its time before it comes again.
        connection.flush()
    }

    private func connect(now: Instant) throws(Failure) {
        try bearer.renew(now: now, token)
        if bearer.isRejected {
            // There is no newer token than the one that APNs refuses: somebody's clock is wrong.
            retry.pause("ExpiredProviderToken", .minutes(20), now: now)
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

    private func fly(_ item: Item, on connection: ClientConnection, now: Instant) -> Bool {
        item.request.writeFields(&fields, authority: address.authority, bearer: bearer.text)
        let place = freePlaces.last ?? flying.count
        guard
            connection.submit(tag: place, fields, body: item.request.payload.bytes, now: now)
        else { return false }
        lastSize = max(1, item.request.payload.bytes.count)
        if freePlaces.popLast() == nil { flying.append(item) } else { flying[place] = item }
        return true
    }

    // MARK: Answers

    private func takeEvents(now: Instant) {
        guard let events = connection?.takeEvents(), !events.isEmpty else { return }
        let moment = Timestamp.systemNow
        for event in events {
            switch event {
            case .answered(let tag, let answer):
                retry.didSucceed()
                settle(APNsVerdict(answer, now: moment), of: land(tag))
            case .refused(let tag):
                window.shrink()
                sendAgain(land(tag), orElse: .notSent("refused by the server"))
            case .lost(let tag, let reason):
                settle(land(tag), .noAnswer(reason))
            }
        }
    }

    private func settle(_ verdict: APNsVerdict, of item: Item) {
        window.adapt(to: verdict.outcome)
        switch verdict.outcome {
        case .renewToken:
            bearer.reject()
            sendAgain(item, orElse: .notSent("ExpiredProviderToken"))
        case .stopQueue where isOfToken(verdict) && bearer.hasOther(token):
            bearer.reject()
            sendAgain(item, orElse: verdict)
        case .stopQueue:
            settle(item, verdict)
            giveBackUnsent("stopped after \(verdict.reason ?? "")")
        default: settle(item, verdict)
        }
    }

    private func isOfToken(_ verdict: APNsVerdict) -> Bool {
        verdict.reason == "InvalidProviderToken"
    }

    /// Puts what was certainly not processed back to the front, but not for ever.
    private func sendAgain(_ item: Item, orElse verdict: APNsVerdict) {
        guard item.returns < 3 else { return settle(item, verdict) }
        var item = item
        item.returns += 1
        queue.prepend(item)
    }

    private func land(_ place: Int) -> Item {
        guard let item = flying[place] else { preconditionFailure("an event without a request") }
        flying[place] = nil
        freePlaces.append(place)
        return item
    }

    private func settle(_ item: Item, _ verdict: APNsVerdict) {
        settled.append(Settled(push: item.push, verdict: verdict))
    }

    // MARK: The connection's end

    private func checkState(of connection: ClientConnection, now: Instant) {
        switch connection.state {
        case .closed(let reason):
            retry.didEnd(reason, now: now)
            self.connection = nil
        case .open where bearer.isRejected && inFlight == 0:
            // APNs goes on refusing on a connection where it has refused an old token.
            connection.close("the provider token is too old")
            retry.didEnd("ExpiredProviderToken", now: now)
            self.connection = nil
        case .connecting, .open, .ending: break
        }
    }
}

extension APNsGateway {
    /// Sends what was submitted, and waits until one of the gateways hears something or the time is over.
    package static func wait(for gateways: [APNsGateway], upTo pause: Interval) {
        ClientConnection.wait(
            for: gateways.compactMap(\.connection), upTo: max(.seconds(0), pause))
    }
}
