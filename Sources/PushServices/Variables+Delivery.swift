import Turnstone

extension Variables {
    /// `DELIVER_LINGER_SECONDS`: how long an idle drainer waits for more.
    package func lingerInterval() throws(Failure) -> Interval {
        .seconds(Int64(try number("DELIVER_LINGER_SECONDS", standard: 5, in: 0...3600)))
    }

    /// `TURNSTONE_QUEUE`: the push service whose queues `deliver` drains, and the number of the only one if
    /// the service has several; `nil` for all. `deliver` also names how many there are, as in `apns-2of4`.
    ///
    /// - Throws: later, if that number has changed meanwhile; misconfigured if there is no such queue.
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
            if parts.count == 2, let (number, count) = place(parts[1]) {
                guard count == shards else {
                    throw Failure(
                        .later(seconds: 1),
                        "unable to drain \(name): the number of queues has changed to \(shards) meanwhile",
                        cause: "shards")
                }
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

    /// Reads `2of4`.
    private func place(_ text: String) -> (number: Int, count: Int)? {
        let parts = text.utf8.split(separator: UInt8(ascii: "o"), maxSplits: 1)
            .map { Array($0) }
        guard parts.count == 2, parts[1].first == UInt8(ascii: "f"),
            let number = Int(String(decoding: parts[0], as: UTF8.self)),
            let count = Int(String(decoding: parts[1].dropFirst(), as: UTF8.self)),
            number >= 1, number <= count
        else { return nil }
        return (number, count)
    }
}
