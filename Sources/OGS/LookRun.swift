import HTTP
import Turnstone
import Unix

/// One run over many players: the requests in flight, and the player whose turn in the schedule is next.
struct LookRun {
    private let base: String
    private let fetcher: Fetcher
    private let deadline: Instant
    private var inFlight: [Int: OGSClient.LookRequest] = [:]
    private var lastTag = 0
    /// The next player, and the time of that request on the monotonic clock.
    private var upcoming: (request: OGSClient.LookRequest, at: Instant)?
    private var isEnding = false
    private var hasMore = true

    init(base: String, fetcher: Fetcher, deadline: Instant) {
        self.base = base
        self.fetcher = fetcher
        self.deadline = deadline
    }

    /// Starts the requests that may start now.
    /// - Returns: whether there is anything to wait for.
    mutating func begin(
        next: () throws(Failure) -> OGSClient.LookRequest?,
        reserve: () throws(Failure) -> Interval
    ) throws(Failure) -> Bool {
        while !isEnding, inFlight.count < fetcher.capacity {
            let now = Instant.now
            guard now < deadline else { return false }
            if upcoming == nil { try choose(next, reserve, now: now) }
            guard let (request, at) = upcoming, at <= now else { break }
            upcoming = nil
            lastTag += 1
            try fetcher.submit(
                "\(base)/api/v1/players/\(request.player)/full", tag: lastTag,
                entityTag: request.entityTag, patience: min(.seconds(20), deadline - now))
            inFlight[lastTag] = request
        }
        guard Instant.now < deadline else { return false }
        return !inFlight.isEmpty || (!isEnding && upcoming != nil)
    }

    /// Picks the next player and its time, unless that time is after the deadline.
    private mutating func choose(
        _ next: () throws(Failure) -> OGSClient.LookRequest?,
        _ reserve: () throws(Failure) -> Interval, now: Instant
    ) throws(Failure) {
        guard hasMore, let request = try next() else {
            hasMore = false
            return
        }
        let at = now + (try reserve())
        upcoming = (request, at)
        if at >= deadline { isEnding = true }
    }

    /// Waits until an answer arrives or the next player's time has come.
    mutating func step() -> [(OGSClient.LookRequest, LookOutcome)] {
        let now = Instant.now
        var pause = deadline - now
        if let upcoming, inFlight.count < fetcher.capacity { pause = min(pause, upcoming.at - now) }
        var outcomes: [(OGSClient.LookRequest, LookOutcome)] = []
        for fetched in fetcher.step(pause: max(.seconds(0), pause)) {
            guard let request = inFlight.removeValue(forKey: fetched.tag) else { continue }
            let outcome = LookOutcome(fetched.result, of: request)
            if case .backOff = outcome { isEnding = true }
            outcomes.append((request, outcome))
        }
        return outcomes
    }

    /// Ends the run.
    /// - Returns: the requests without an outcome.
    mutating func giveUp() -> [OGSClient.LookRequest] {
        fetcher.cancelAll()
        var left = Array(inFlight.values)
        if let upcoming { left.append(upcoming.request) }
        inFlight = [:]
        upcoming = nil
        return left
    }
}
