import Turnstone

/// The notifications that reached no device of a user through one push service while the queue of another one
/// had them too. Two drainers may end their parts at the same moment, and each would leave the rest to the
/// other. This record tells which one is the last.
package struct UnreachedParts: Equatable, Sendable {
    private var entries: [(id: String, services: [PushService])] = []

    /// The newest of them that are kept. One stays here if its last part reached a device.
    private static let most = 16

    package init() {}

    var isEmpty: Bool { entries.isEmpty }

    package static func == (left: UnreachedParts, right: UnreachedParts) -> Bool {
        left.entries.elementsEqual(right.entries) { $0.id == $1.id && $0.services == $1.services }
    }

    /// Removes what is known of a notification: it reached somebody.
    package mutating func forget(_ id: String) { entries.removeAll { $0.id == id } }

    /// Records that a part reached nobody.
    ///
    /// - Parameter open: the other push services whose queues have a part.
    /// - Returns: whether it was the last part that could have reached the user.
    package mutating func end(
        _ id: String, of service: PushService, besides open: [PushService]
    ) -> Bool {
        let place = entries.firstIndex { $0.id == id }
        let known = place.map { entries[$0].services } ?? []
        if let place { entries.remove(at: place) }
        guard !open.allSatisfy({ known.contains($0) }) else { return true }
        let services = known.contains(service) ? known : known + [service]
        entries = entries.suffix(Self.most - 1) + [(id, services)]
        return false
    }
}

extension UnreachedParts {
    /// Reads the form that ``json`` writes.
    init?(_ json: JSONValue) {
        guard let members = json.object?.members else { return nil }
        for member in members {
            guard let names = member.value.texts else { return nil }
            entries.append((member.name, names.compactMap { PushService(rawValue: $0) }))
        }
    }

    /// `{"ID": ["apns", …]}`.
    var json: JSONValue {
        var members = JSONObject()
        for (id, services) in entries {
            members[id] = JSONValue(texts: services.map { $0.rawValue })
        }
        return .object(members)
    }
}
