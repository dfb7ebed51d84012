import Turnstone

extension State {
    /// `OGS_REQUESTS_PER_SECOND`: the limit for requests to OGS, for the whole installation.
    package func requestsPerSecond(_ variables: Variables) throws(Failure) -> Int {
        try variables.number("OGS_REQUESTS_PER_SECOND", standard: 2, in: 1...1_000_000)
    }

    /// `CHECK_INTERVAL_SECONDS`: the distance between a player's slots.
    package func checkInterval(_ variables: Variables) throws(Failure) -> Interval {
        let seconds = try variables.number("CHECK_INTERVAL_SECONDS", standard: 30, in: 1...86_400)
        return .seconds(Int64(seconds))
    }
}
