import HTTP2
import PushServices
import Turnstone
import Unix

/// Pushes to both of APNs' environments, in one loop.
///
///     while sender.room > 0, let push = … { sender.submit(push.request, in: push.environment, for: push) }
///     for settled in try sender.step(pause: .milliseconds(100)) { settle(settled.push, settled.verdict) }
///
/// Whoever wants to use at once what was received uses the parts of a step: ``exchange()`` and
/// ``wait(upTo:)``.
///
/// To end: submit no more, go on until ``backlog`` is 0, ``close()``. To end in a hurry,
/// ``giveBackUnsent(_:)`` first: what is in flight still gets its verdict.
package final class APNsSender {
    private let settings: APNsSettings
    private let context: TLSContext
    private let limits: ClientLimits
    private let token: APNsGateway.TokenSource
    /// When something has to be done though nothing arrives.
    private var moment = Instant.last
    private var gateways: [(environment: APNsEnvironment, gateway: APNsGateway)] = []

    /// - Parameter token: is asked for each connection. It takes the shared record's lock, decides by
    ///   ``ProviderToken/decide(_:for:rejected:now:)``, and stores what it mints.
    /// - Throws: where the certificates that should be trusted cannot be read.
    package init(
        _ settings: APNsSettings, limits: ClientLimits = ClientLimits(),
        token: @escaping APNsGateway.TokenSource
    ) throws(Failure) {
        self.settings = settings
        self.limits = limits
        self.token = token
        context = try .client(authorities: settings.authorities)
    }

    /// How many more pushes are wanted now, to the configured environment.
    ///
    /// Those to the other one wait in line: a gateway that does not answer holds up its own only.
    package var room: Int {
        let other = gateways.first { $0.environment != settings.environment }
        if let other, other.gateway.backlog >= SendingWindow.most { return 0 }
        return gateway(of: settings.environment).room
    }

    /// What stands in the way of all pushes to the configured environment.
    package var trouble: APNsGateway.Trouble? { gateway(of: settings.environment).trouble }

    /// Pushes without a verdict.
    package var backlog: Int { gateways.reduce(0) { $0 + $1.gateway.backlog } }

    /// - Parameters:
    ///   - environment: the device's; `nil` for the configured one.
    ///   - push: comes back with the verdict.
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
            settings.address(of: environment), context, limits: limits, token: token)
        gateways.append((environment, made))
        return made
    }

    /// Sends and receives.
    ///
    /// - Parameter pause: how long it may wait for something to happen. A signal ends the wait.
    /// - Returns: the pushes that got their verdict.
    /// - Throws: what the token source throws.
    package func step(pause: Interval) throws(Failure) -> [APNsGateway.Settled] {
        let settled = try exchange()
        guard settled.isEmpty else { return settled }
        wait(upTo: pause)
        return try exchange()
    }

    /// Waits until there is something to receive, or to be done.
    package func wait(upTo pause: Interval) {
        let until = min(moment, Instant.now + pause)
        APNsGateway.wait(
            for: gateways.map(\.gateway), upTo: until - Instant.now)
    }

    /// Sends and receives what can be without waiting.
    ///
    /// - Returns: the pushes that got their verdict.
    /// - Throws: what the token source throws.
    package func exchange() throws(Failure) -> [APNsGateway.Settled] {
        moment = .last
        return try stepAll(until: &moment)
    }

    /// A gateway's failure waits for the next call where verdicts have come from another.
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

    /// Gives back, with ``APNsOutcome/notSent``, what has not been sent.
    package func giveBackUnsent(_ reason: String) {
        for (_, gateway) in gateways { gateway.giveBackUnsent(reason) }
    }

    /// Ends the connections.
    package func close() {
        for (_, gateway) in gateways { gateway.close() }
    }
}
