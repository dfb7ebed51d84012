import Crypto
import Documents
import Turnstone

extension State {
    /// Refusals by a service that refused pushes to many users and accepted none of theirs, or whose devices
    /// are kept. The settings are probably wrong.
    package struct ServiceRefusals: Equatable {
        package let service: String
        /// The push service's reason, such as `DeviceTokenNotForTopic`.
        package let reason: String
        package let since: Timestamp
        /// A fingerprint of the settings that were used.
        package let settings: String
        /// Whether the service accepts pushes to other users.
        package let acceptsOthers: Bool
        /// How many users; at most ``maximumUsers`` are counted.
        package var users: Int { names.count }
        fileprivate var names: [String]

        fileprivate var json: JSONValue {
            var members: JSONObject = [
                "reason": .string(reason), "since": JSONValue(since),
                "settings": .string(settings), "users": JSONValue(texts: names),
            ]
            if acceptsOthers { members["accepts_others"] = .bool(true) }
            return .object(members)
        }

        package static let maximumUsers = 20
        /// From this number of users on, the settings are the likely cause.
        package static let alarmThreshold = 3
    }

    package func refusals() throws(Failure) -> [ServiceRefusals] {
        try stops.read().map { refusals(in: $0.content) } ?? []
    }

    private func refusals(in content: JSONObject) -> [ServiceRefusals] {
        let services = content["refusing"]?.object?.members ?? []
        return services.compactMap { service in
            guard let members = service.value.object, let reason = members["reason"]?.string,
                let since = members["since"]?.timestamp
            else { return nil }
            return ServiceRefusals(
                service: service.name, reason: reason, since: since,
                settings: members["settings"]?.string ?? "",
                acceptsOthers: members["accepts_others"]?.bool ?? false,
                names: members["users"]?.texts ?? [])
        }
    }

    /// The pushes that a service refused under these settings.
    package func refusals(by service: String, under settings: String) throws(Failure)
        -> ServiceRefusals?
    {
        try refusals().first { $0.service == service && $0.settings == settings }
    }

    /// Changes the refusals under the document's lock: a drainer may record some while a user is erased.
    private func changeRefusals(_ change: (inout [ServiceRefusals]) -> Void) throws(Failure) {
        try stops.update { document in
            var list = refusals(in: document.content)
            change(&list)
            var services = JSONObject()
            for refusals in list { services[refusals.service] = refusals.json }
            document.content["refusing"] = .object(services)
        }
    }

    /// Refusals that a run has seen.
    package struct SeenRefusals {
        package var reason: String
        package var users: Set<UserID>
        package var first: Timestamp
        /// Whether the service has accepted pushes to other users under these settings.
        package var acceptsOthers: Bool

        package init(
            _ reason: String, to users: Set<UserID>, first: Timestamp, acceptsOthers: Bool = false
        ) {
            self.reason = reason
            self.users = users
            self.first = first
            self.acceptsOthers = acceptsOthers
        }
    }

    /// Records users to whom a service refused pushes under these settings, in addition to those of earlier
    /// runs.
    ///
    /// - Parameter isForgetting: whether a push was accepted, which ends what was recorded before.
    ///
    /// It is one change: if all of it is recorded already, nothing is written.
    package func recordRefusals(
        _ seen: [SeenRefusals], by service: String, under settings: String,
        isForgetting: Bool = false
    ) throws(Failure) {
        let known = try refusals()
        var list = known
        record(seen, by: service, under: settings, isForgetting: isForgetting, in: &list)
        guard list != known else { return }
        try changeRefusals { list in
            record(seen, by: service, under: settings, isForgetting: isForgetting, in: &list)
        }
    }

    private func record(
        _ seen: [SeenRefusals], by service: String, under settings: String, isForgetting: Bool,
        in list: inout [ServiceRefusals]
    ) {
        let index = list.firstIndex { $0.service == service }
        var next = index.map { list[$0] }
        if isForgetting { next = nil }
        for refusals in seen {
            let known = next.flatMap { $0.settings == settings ? $0 : nil }
            let names = Set((known?.names ?? []) + refusals.users.map { digest(of: $0) })
            next = ServiceRefusals(
                service: service, reason: refusals.reason,
                since: min(known?.since ?? refusals.first, refusals.first), settings: settings,
                acceptsOthers: refusals.acceptsOthers || known?.acceptsOthers ?? false,
                names: Array(names.sorted().prefix(ServiceRefusals.maximumUsers)))
        }
        // In its place: a document that stays the same is not written again.
        switch (index, next) {
        case (let index?, let next?): list[index] = next
        case (let index?, nil): list.remove(at: index)
        case (nil, let next?): list.append(next)
        case (nil, nil): break
        }
    }

    private func digest(of user: UserID) -> String {
        hex(SHA256.hash(Array(user.text.utf8)).prefix(4))
    }

    /// Removes a user from the recorded refusals.
    ///
    /// - Returns: from how many entries.
    func eraseRefusals(of user: UserID) throws(Failure) -> Int {
        let digest = digest(of: user)
        guard try refusals().contains(where: { $0.names.contains(digest) }) else { return 0 }
        var count = 0
        try changeRefusals { list in
            for index in list.indices where list[index].names.contains(digest) {
                list[index].names.removeAll { $0 == digest }
                count += 1
            }
        }
        return count
    }
}
