import Turnstone

extension Variables {
    /// `DELIVER_LINGER_SECONDS`: how long an idle drainer waits for more.
    package func lingerInterval() throws(Failure) -> Interval {
        .seconds(Int64(try number("DELIVER_LINGER_SECONDS", standard: 5, in: 0...3600)))
    }

    /// `TURNSTONE_QUEUE`: the only queue that `deliver` drains; `nil` for all.
    package func queue() throws(Failure) -> PushService? {
        guard let name = text("TURNSTONE_QUEUE") else { return nil }
        guard let service = PushService(rawValue: name) else {
            throw wrong("TURNSTONE_QUEUE", "must be apns, fcm or web")
        }
        return service
    }
}
