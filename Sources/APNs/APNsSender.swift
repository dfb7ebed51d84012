import Gateways
import HTTP2
import PushServices
import Turnstone
import Unix

/// Pushes to both of APNs' environments, in one loop.
///
///     while sender.room > 0, let push = … { sender.submit(push.request, in: push.environment, for: push) }
///     for settled in try sender.step(pause: .milliseconds(100)) { settle(settled.push, settled.verdict) }
///
/// To use verdicts as soon as they arrive, call the parts of a step: ``exchange()`` and ``wait(upTo:)``.
///
/// To end: submit no more pushes, continue until ``backlog`` is 0, then ``close()``. To end quickly, call
/// ``giveBackUnsent(_:)`` first: pushes in flight still get their verdicts.
package final class APNsSender: PushSender {
    private let settings: APNsSettings
    private let context: TLSContext
    private let limits: ClientLimits
    private let token: APNsGateway.TokenSource
    private let clock: () -> Timestamp
    /// When the next exchange is due even if nothing arrives.
    private var deadline = Instant.last
    private var gateways: [(environment: APNsEnvironment, gateway: APNsGateway)] = []

    /// - Parameters:
    ///   - clock: the wall clock.
    ///   - token: called for each connection, and once a minute while it lasts. It takes the lock of the
    ///     shared record, decides by ``ProviderToken/decide(_:for:rejected:now:)``, and stores a new token.
    /// - Throws: a failure if the certificates to trust (`APNS_CA_FILE`) cannot be read.
    package init(
        _ settings: APNsSettings, limits: ClientLimits = ClientLimits(),
        clock: @escaping () -> Timestamp = { .systemNow },
        token: @escaping APNsGateway.TokenSource
    ) throws(Failure) {
        self.settings = settings
        self.limits = limits
        self.token = token
        self.clock = clock
        context = try .client(authorities: settings.authorities)
    }

    /// The number of pushes to the configured environment that should be submitted now.
    ///
    /// Pushes to the other environment queue at its gateway: if that does not answer, only they wait. While
    /// too many of them are queued, the number is 0.
    package var room: Int {
        let other = gateways.first { $0.environment != settings.environment }
        if let other, other.gateway.backlog >= SendingWindow.maximum { return 0 }
        return gateway(of: settings.environment).room
    }

    /// The reason why nothing can be pushed to the configured environment now.
    package var trouble: APNsGateway.Trouble? { gateway(of: settings.environment).trouble }

    /// The number of pushes without a verdict.
    package var backlog: Int { gateways.reduce(0) { $0 + $1.gateway.backlog } }

    /// - Parameters:
    ///   - environment: the device's environment; `nil` for the configured one.
    ///   - push: returned with the verdict.
    package func submit(
        _ request: APNsRequest, in environment: APNsEnvironment?, for push: AnyObject
    ) {
        gateway(of: environment ?? settings.environment).submit(request, for: push)
    }

    private func gateway(of environment: APNsEnvironment) -> APNsGateway {
        for index in gateways.indices where gateways[index].environment == environment {
            return gateways[index].gateway
        }
        let made = APNsGateway(
            settings.address(of: environment), context, limits: limits, clock: clock,
            token: token)
        gateways.append((environment, made))
        return made
    }

    /// Sends and receives.
    ///
    /// - Parameter pause: the longest time to wait for something to arrive. A signal ends the wait.
    /// - Returns: the pushes that got their verdict.
    /// - Throws: what the token source throws.
    package func step(pause: Interval) throws(Failure) -> [APNsGateway.Settled] {
        let settled = try exchange()
        guard settled.isEmpty else { return settled }
        wait(upTo: pause)
        return try exchange()
    }

    /// Waits until something arrives or the next exchange is due, at most for `pause`.
    package func wait(upTo pause: Interval) {
        let until = min(deadline, Instant.now + pause)
        APNsGateway.wait(
            for: gateways.map(\.gateway), upTo: until - Instant.now)
    }

    /// Sends and receives everything that is possible without waiting.
    ///
    /// - Returns: the pushes that got their verdict.
    /// - Throws: what the token source throws.
    package func exchange() throws(Failure) -> [APNsGateway.Settled] {
        deadline = .last
        return try stepAll(until: &deadline)
    }

    /// Steps all gateways. If one fails while another has verdicts, this returns the verdicts and drops the
    /// failure: the next call meets it again.
    private func stepAll(until: inout Instant) throws(Failure) -> [APNsGateway.Settled] {
        var settled: [APNsGateway.Settled] = []
        var failure: Failure?
        for (_, gateway) in gateways {
            do throws(Failure) { settled += try gateway.step(until: &until) } catch {
                failure = error
            }
        }
        if settled.isEmpty, let failure { throw failure }
        return settled
    }

    /// Gives each push that has not been sent the verdict ``APNsOutcome/notSent``.
    package func giveBackUnsent(_ reason: String) {
        for (_, gateway) in gateways { gateway.giveBackUnsent(reason) }
    }

    /// Ends the connections.
    package func close() {
        for (_, gateway) in gateways { gateway.close() }
    }
}
