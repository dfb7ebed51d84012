import Turnstone

/// Why nothing is pushed: a push service refuses what identifies this installation.
package struct DeliveryStop: Equatable {
    /// The push service's own word, such as `InvalidProviderToken`.
    package let reason: String
    package let since: Timestamp

    package init(reason: String, since: Timestamp) {
        self.reason = reason
        self.since = since
    }
}

extension State {
    private var stopName: DocumentName { DocumentName(single: "delivery") }

    package func deliveryStop() throws(Failure) -> DeliveryStop? {
        guard let note = try notes.read(stopName)?.content,
            let reason = note["stopped"]?.string, let since = note["since"]?.timestamp
        else { return nil }
        return DeliveryStop(reason: reason, since: since)
    }

    /// Notes that delivery has stopped, or with `nil` that it goes on. A stop that lasts keeps its start.
    package func note(_ stop: DeliveryStop?) throws(Failure) {
        guard try deliveryStop()?.reason != stop?.reason else { return }
        try notes.update(stopName) { note in
            note.content["stopped"] = stop.map { .string($0.reason) }
            note.content["since"] = stop.map { JSONValue($0.since) }
        }
    }
}
