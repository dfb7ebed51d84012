import Crypto
import Documents
import Turnstone

extension State {
    /// Refusals by a service that refused pushes to many users. It has accepted none since then, or only pushes
    /// to others. The settings are probably wrong.
    package struct ServiceRefusals: Equatable {
        package let service: String
        /// Whether the users' devices are kept, while the service accepts pushes to others. A service may have
        /// refusals of either kind.
        package let areKept: Bool
        /// The push service's reason, such as `DeviceTokenNotForTopic`; of kept devices all reasons of a run.
        package let reason: String
        package let since: Timestamp
        /// A fingerprint of the settings that were used.
        package let settings: String
        /// The environments in which devices are kept and an acceptance would show that the settings are right.
        package let environments: Set<APNsEnvironment>
        /// How many users; at most ``maximumUsers`` are counted.
        package var users: Int { names.count }
        fileprivate var names: [String]

        fileprivate init(
            _ seen: SeenRefusals, by service: String, under settings: String, areKept: Bool,
            names: [String]
        ) {
            self.service = service
            self.areKept = areKept
            self.settings = settings
            self.names = names
            reason = seen.reason
            since = seen.first
            environments = seen.environments
        }

        fileprivate var json: JSONValue {
            var members: JSONObject = [
                "reason": .string(reason), "since": JSONValue(since),
                "settings": .string(settings), "users": JSONValue(texts: names),
            ]
            if !environments.isEmpty {
                let names = environments.map { $0.rawValue }.sorted()
                members["environments"] = JSONValue(texts: names)
            }
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
        let kept = refusals(in: content["keeping"], areKept: true)
        let others = refusals(in: content["refusing"], areKept: false).filter { entry in
            // A drainer of an earlier version may run beside those of today.
            !entry.areKept || !kept.contains { $0.service == entry.service }
        }
        return others + kept
    }

    private func refusals(in member: JSONValue?, areKept: Bool) -> [ServiceRefusals] {
        let services = member?.object?.members ?? []
        return services.compactMap { service in
            guard let members = service.value.object, let reason = members["reason"]?.string,
                let since = members["since"]?.timestamp
            else { return nil }
            let environments = members["environments"]?.texts ?? []
            let seen = SeenRefusals(
                reason, to: [], first: since,
                in: Set(environments.compactMap { APNsEnvironment(rawValue: $0) }))
            // An earlier version had one entry for both kinds.
            let wereKept = members["accepts_others"]?.bool ?? false
            return ServiceRefusals(
                seen, by: service.name, under: members["settings"]?.string ?? "",
                areKept: areKept || wereKept, names: members["users"]?.texts ?? [])
        }
    }

    /// The pushes that a service refused under these settings, without those to devices that are kept.
    package func refusals(by service: String, under settings: String) throws(Failure)
        -> ServiceRefusals?
    {
        try refusals().first {
            $0.service == service && !$0.areKept && $0.settings == settings
        }
    }

    /// Changes the refusals under the document's lock: a drainer may record some while a user is erased.
    private func changeRefusals(_ change: (inout [ServiceRefusals]) -> Void) throws(Failure) {
        try stops.update { document in
            var list = refusals(in: document.content)
            change(&list)
            var (refusing, keeping) = (JSONObject(), JSONObject())
            for refusals in list {
                if refusals.areKept {
                    keeping[refusals.service] = refusals.json
                } else {
                    refusing[refusals.service] = refusals.json
                }
            }
            document.content["refusing"] = .object(refusing)
            document.content["keeping"] = keeping.members.isEmpty ? nil : .object(keeping)
        }
    }

    /// Refusals that a run has seen.
    package struct SeenRefusals {
        package var reason: String
        package var users: Set<UserID>
        package var first: Timestamp
        /// As in ``ServiceRefusals``.
        package var environments: Set<APNsEnvironment>

        package init(
            _ reason: String, to users: Set<UserID>, first: Timestamp,
            in environments: Set<APNsEnvironment> = []
        ) {
            self.reason = reason
            self.users = users
            self.first = first
            self.environments = environments
        }
    }

    /// Records users to whom a service refused pushes under these settings, in addition to those of earlier
    /// runs, and ends what is over.
    ///
    /// - Parameters:
    ///   - refused: those since the last acceptance, or under settings with which nothing was accepted.
    ///   - kept: those to users whose devices are kept, while the service accepts pushes to others.
    ///   - isOver: whether an acceptance has ended what was recorded earlier. It may run again with the lock held.
    ///     What was recorded under other settings is over anyway.
    ///
    /// It is one change: if all of it is recorded already, nothing is written.
    package func recordRefusals(
        _ refused: SeenRefusals?, keeping kept: SeenRefusals? = nil, by service: String,
        under settings: String, ending isOver: (ServiceRefusals) -> Bool = { _ in false }
    ) throws(Failure) {
        let known = try refusals()
        var list = known
        record(refused, kept, by: service, under: settings, ending: isOver, in: &list)
        guard list != known else { return }
        try changeRefusals { list in
            record(refused, kept, by: service, under: settings, ending: isOver, in: &list)
        }
    }

    private func record(
        _ refused: SeenRefusals?, _ kept: SeenRefusals?, by service: String,
        under settings: String, ending isOver: (ServiceRefusals) -> Bool,
        in list: inout [ServiceRefusals]
    ) {
        for (areKept, seen) in [(false, refused), (true, kept)] {
            let index = list.firstIndex { $0.service == service && $0.areKept == areKept }
            var known = index.map { list[$0] }
            if let former = known, former.settings != settings || isOver(former) { known = nil }
            let next =
                seen.map { seen in
                    ServiceRefusals(
                        joined(seen, known), by: service, under: settings, areKept: areKept,
                        names: names(of: seen.users, known))
                } ?? known
            // In its place: a document that stays the same is not written again.
            switch (index, next) {
            case (let index?, let next?): list[index] = next
            case (let index?, nil): list.remove(at: index)
            case (nil, let next?): list.append(next)
            case (nil, nil): break
            }
        }
    }

    private func joined(_ seen: SeenRefusals, _ known: ServiceRefusals?) -> SeenRefusals {
        guard let known else { return seen }
        var joined = seen
        joined.first = min(known.since, seen.first)
        joined.environments.formUnion(known.environments)
        return joined
    }

    private func names(of users: Set<UserID>, _ known: ServiceRefusals?) -> [String] {
        let names = Set((known?.names ?? []) + users.map { digest(of: $0) })
        return Array(names.sorted().prefix(ServiceRefusals.maximumUsers))
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
