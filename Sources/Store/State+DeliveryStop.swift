import Documents
import Turnstone

extension State {
    var stops: StoredDocument<Opaque> {
        sharedDocuments[DocumentName(single: "delivery")]
    }

    /// The push services that get nothing now.
    package func deliveryStops() throws(Failure) -> [DeliveryStop] {
        let services = try stops.read()?.content["stopped"]?.object?.members ?? []
        return services.compactMap { service in
            guard let members = service.value.object, let reason = members["reason"]?.string,
                let since = members["since"]?.timestamp
            else { return nil }
            return DeliveryStop(
                service: service.name, reason: reason, since: since,
                until: members["until"]?.timestamp, settings: members["settings"]?.string ?? "")
        }
    }

    package func deliveryStop(of service: String) throws(Failure) -> DeliveryStop? {
        try deliveryStops().first { $0.service == service }
    }

    /// Records why nothing goes to a service, or with `nil` that it gets pushes again. A stop with the same
    /// reason keeps its start.
    package func setDeliveryStop(_ stop: DeliveryStop?, of service: String) throws(Failure) {
        let known = try deliveryStop(of: service)
        guard known != stop else { return }
        let value: JSONValue? = stop.map { stop in
            let isSame = known?.reason == stop.reason
            var members: JSONObject = [
                "reason": .string(stop.reason),
                "since": JSONValue(isSame ? known?.since ?? stop.since : stop.since),
                "settings": .string(stop.settings),
            ]
            members["until"] = stop.until.map { JSONValue($0) }
            return .object(members)
        }
        try setMember("stopped", of: service, to: value)
    }

    /// Changes a service's entry in one member of `delivery.json`.
    private func setMember(
        _ member: String, of service: String, to value: JSONValue?
    ) throws(Failure) {
        try stops.update { document in
            var services = document.content[member]?.object ?? [:]
            services[service] = value
            document.content[member] = .object(services)
        }
    }

    // MARK: Failures

    /// The push services that have answered no push since a moment although they were asked, and the first
    /// reason.
    package func deliveryFailures() throws(Failure) -> [(
        service: String, reason: String, since: Timestamp
    )] {
        let services = try stops.read()?.content["failing"]?.object?.members ?? []
        return services.compactMap { service in
            guard let members = service.value.object, let reason = members["reason"]?.string,
                let since = members["since"]?.timestamp
            else { return nil }
            return (service.name, reason, since)
        }
    }

    /// Records that a service answers no pushes, or with `nil` that it does again. A failure that lasts keeps
    /// its start.
    package func setDeliveryFailure(
        _ reason: String?, of service: String, at now: Timestamp
    ) throws(Failure) {
        let isKnown = try deliveryFailures().contains { $0.service == service }
        guard isKnown != (reason != nil) else { return }
        try setMember(
            "failing", of: service,
            to: reason.map { ["reason": .string($0), "since": JSONValue(now)] })
    }

    // MARK: Acceptances

    /// The environments in which a service has accepted pushes under these settings: the key and topic are
    /// right there.
    package func acceptances(
        of service: String, under settings: String
    ) throws(Failure) -> Set<APNsEnvironment> {
        let known = try stops.read()?.content["accepted"]?.object?[service]?.object
        guard let known, known["settings"]?.string == settings else { return [] }
        return Set(known["environments"]?.texts?.compactMap { APNsEnvironment(rawValue: $0) } ?? [])
    }

    /// Records that a service has accepted pushes under these settings.
    package func recordAcceptances(
        in environments: Set<APNsEnvironment>, of service: String, under settings: String
    ) throws(Failure) {
        let known = try acceptances(of: service, under: settings)
        guard !environments.isSubset(of: known) else { return }
        let names = known.union(environments).map { $0.rawValue }.sorted()
        try setMember(
            "accepted", of: service,
            to: ["settings": .string(settings), "environments": JSONValue(texts: names)])
    }
}
