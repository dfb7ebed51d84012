import Turnstone

extension Variables {
    /// `DELIVER_LINGER_SECONDS`: how long an idle drainer waits for more.
    package func lingerInterval() throws(Failure) -> Interval {
        .seconds(Int64(try number("DELIVER_LINGER_SECONDS", standard: 5, in: 0...3600)))
    }
}
