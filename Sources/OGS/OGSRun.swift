import HTTP
import Turnstone
import Unix

/// Looks at many players: the requests in flight, and the next one in the installation's schedule. One slow
/// or failing player delays nobody else.
///
///     while true {
///         while try run.advance(), let request = next() { run.add(request, after: pause) }
///         guard run.isOpen else { break }
///         for (request, outcome) in run.step() { … }
///     }
///     for request in run.giveUp() { … }
package struct OGSRun {
    private let base: String
    private let fetcher: Fetcher
    private let deadline: Instant
    private var inFlight: [Int: OGSClient.Request] = [:]
    private var lastTag = 0
    /// The next request and its time.
    private var upcoming: (request: OGSClient.Request, at: Instant)?
    /// Whether no request is sent any more: OGS has asked for a pause, or the next one's time is after the
    /// deadline.
    private var isEnding = false

    init(base: String, fetcher: Fetcher, deadline: Instant) {
        self.base = base
        self.fetcher = fetcher
        self.deadline = deadline
    }

    /// Sends the next request if its time has come.
    ///
    /// - Returns: whether another one can be added.
    @discardableResult
    package mutating func advance() throws(Failure) -> Bool {
        let now = Instant.now
        guard !isEnding, now < deadline, inFlight.count < fetcher.capacity else { return false }
        guard let (request, at) = upcoming else { return true }
        guard at <= now else { return false }
        upcoming = nil
        lastTag += 1
        try fetcher.submit(
            "\(base)/api/v1/players/\(request.player)/full", tag: lastTag,
            entityTag: request.entityTag, patience: min(.seconds(20), deadline - now))
        inFlight[lastTag] = request
        return inFlight.count < fetcher.capacity
    }

    /// Adds the request that is sent next.
    ///
    /// - Parameter pause: how long to wait for its time in the installation's schedule.
    package mutating func add(_ request: OGSClient.Request, after pause: Interval) {
        let at = Instant.now + pause
        upcoming = (request, at)
        if at >= deadline { isEnding = true }
    }

    /// Whether an answer can arrive or a request can be sent before the deadline.
    package var isOpen: Bool {
        Instant.now < deadline && (!inFlight.isEmpty || !isEnding && upcoming != nil)
    }

    /// Waits until an answer arrives or the next request's time has come.
    package mutating func step() -> [(OGSClient.Request, OGSOutcome)] {
        let now = Instant.now
        var pause = deadline - now
        if let upcoming, inFlight.count < fetcher.capacity { pause = min(pause, upcoming.at - now) }
        var outcomes: [(OGSClient.Request, OGSOutcome)] = []
        for fetched in fetcher.step(pause: max(.seconds(0), pause)) {
            guard let request = inFlight.removeValue(forKey: fetched.tag) else { continue }
            let outcome = OGSOutcome(fetched.result, of: request, at: base)
            if case .backOff = outcome { isEnding = true }
            outcomes.append((request, outcome))
        }
        return outcomes
    }

    /// Ends the run.
    ///
    /// - Returns: the requests without an outcome.
    package mutating func giveUp() -> [OGSClient.Request] {
        fetcher.cancelAll()
        var left = Array(inFlight.values)
        if let upcoming { left.append(upcoming.request) }
        inFlight = [:]
        upcoming = nil
        return left
    }
}
