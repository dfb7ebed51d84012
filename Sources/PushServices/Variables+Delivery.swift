import Turnstone

extension Variables {
    /// `DELIVER_LINGER_SECONDS`: how long an idle drainer waits for more.
    package func lingerInterval() throws(Failure) -> Interval {
        .seconds(Int64(try number("DELIVER_LINGER_SECONDS", standard: 5, in: 0...3600)))
    }

    /// `TURNSTONE_QUEUE`: the push service whose queues `deliver` drains, and the number of the only one if
    /// the service has several; `nil` for all.
    @export(interface)
    package func queue() throws(Failure) -> (service: PushService, number: Int?)? {
        guard let name = text("TURNSTONE_QUEUE") else { return nil }
        let shards = try shards()
        let parts = name.utf8.split(separator: UInt8(ascii: "-"), omittingEmptySubsequences: false)
            .map { String(decoding: Array($0), as: UTF8.self) }
        if let service = PushService(rawValue: parts[0]) {
            if parts.count == 1 { return (service, nil) }
            if parts.count == 2, let number = Int(parts[1]), number >= 1, number <= shards {
                return (service, number)
            }
        }
        throw wrong(
            "TURNSTONE_QUEUE",
            shards == 1
                ? "must be apns, fcm or web"
                : "must be apns, fcm or web, or one of their \(shards) queues such as apns-\(shards)"
        )
    }
}
