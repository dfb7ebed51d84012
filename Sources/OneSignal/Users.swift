import Documents
import Edge
import Profiles
import Store
import Turnstone

package let noUser = Failure.refused(.notFound, "User not found")

/// The requests of OneSignal's clients about users.
package struct Users {
    package let state: State
    private let request: Request

    package init(_ request: Request) throws(Failure) {
        self.request = request
        state = try State(request.variables)
    }

    /// The user whom the path names by `{alias_label}` and `{alias_id}`.
    ///
    /// - Throws: not found if there is none.
    package func named() throws(Failure) -> UserID {
        let label = request[parameter: "alias_label"]
        let id = request[parameter: "alias_id"]
        guard let user = try state.user(label, id),
            try state.users[user].read()?.isErasing != true
        else { throw noUser }
        return user
    }

    /// The user whom the path names, also if an erasure of the user was not finished.
    ///
    /// - Throws: not found if there is none. With an `external_id`, only an erasure can tell.
    @export(interface)
    package func namedEvenIfErasing() throws(Failure) -> UserID {
        let label = request[parameter: "alias_label"]
        let id = request[parameter: "alias_id"]
        guard label == Identity.externalID else {
            guard let alias = Alias(label, id) else { throw noUser }
            if let user = try state.aliases.owner(of: alias) { return user }
            guard let user = try state.aliases.erasedOwner(of: alias) else { throw noUser }
            return user
        }
        guard let user = UserID(id) else { throw noUser }
        var document: User?
        do throws(Failure) { document = try state.users[user].read() } catch {
            // A damaged document is erased.
            guard error.isDocumentSpecific else { throw error }
        }
        guard document.map({ !Identity.isAnonymous(user, $0.profile) }) ?? true else {
            throw noUser
        }
        return user
    }

    package func view(_ user: UserID) throws(Failure) -> Response {
        guard let document = try state.users[user].read() else { throw noUser }
        return .ok(.object(shown(user, document)))
    }

    private func shown(_ user: UserID, _ document: User) -> JSONObject {
        [
            "identity": Identity.shown(user, document.profile),
            "properties": document.profile.properties,
            "subscriptions": .array(
                document.devices.filter { $0.kind == .device }.map { $0.subscription }),
        ]
    }

    /// Makes a user, or adds to the one whom an alias names.
    @export(interface)
    package func make() throws(Failure) -> Response {
        var fields = try request.fields()
        let identity = try IdentityBody(&fields, isRequired: false)
        let properties = try PropertiesBody(&fields)
        var subscriptions: [SubscriptionBody] = []
        for (place, json) in try fields.array("subscriptions").enumerated() {
            subscriptions.append(
                try SubscriptionBody(
                    json, named: "subscriptions[\(place)]", request.variables))
        }
        try fields.finish(ignoring: ["refresh_device_metadata"])
        guard !identity.isEmpty || !subscriptions.isEmpty else {
            throw .malformed("identity or subscriptions is required")
        }
        let owners = try owners(of: identity)
        guard owners.count <= 1 else { return try conflict(identity, with: nil) }
        let id = try Identity.newID()
        let user = owners.first ?? identity.externalID ?? UserID(id)
        guard let user else { throw .malformed(UserID.rule) }
        // An alias of somebody else does not make the request that user's.
        if let external = identity.externalID, external != user {
            return try conflict(identity, with: external)
        }
        let known = try state.users[user].read()
        if let known, Identity.isAnonymous(user, known.profile), identity.externalID != nil {
            return try conflict(identity, with: user)
        }
        // Before anything is changed, so that a request for too many subscriptions has no effect.
        try state.registry.checkQuota(
            subscriptions.compactMap { $0.registration }, for: user, at: request.time)
        var aliases = identity.aliases
        if known?.profile.alias(Identity.ownID) == nil {
            aliases[Identity.ownID] = .string(id)
        }
        var members = properties.members
        members["aliases"] = .object(aliases)
        let result = try changing(user, members, identity)
        guard case .success(let changed) = result else {
            return try conflict(identity, with: user)
        }
        var document = changed
        for subscription in subscriptions {
            _ = try subscription.claim(for: user, state, as: request)
        }
        if !subscriptions.isEmpty { document = try state.users[user].read() ?? document }
        return Response(
            status: known == nil ? 201 : 200, body: .object(shown(user, document)))
    }

    /// Changes a user's properties.
    @export(interface)
    package func update(_ user: UserID) throws(Failure) -> Response {
        var fields = try request.fields()
        let properties = try PropertiesBody(&fields)
        let sessions = try fields.newSessions()
        try fields.finish(ignoring: ["refresh_device_metadata"])
        let change = try PropertiesBody.change(properties.members, addingSessions: sessions)
        let document = try state.change(user, by: change, as: request)
        return Response(status: 202, body: ["properties": document.profile.properties])
    }

    package func identity(of user: UserID) throws(Failure) -> Response {
        guard let document = try state.users[user].read() else { throw noUser }
        return .ok(["identity": Identity.shown(user, document.profile)])
    }

    /// Adds aliases, and replaces those with the same labels.
    @export(interface)
    package func addAliases(to user: UserID) throws(Failure) -> Response {
        var fields = try request.fields()
        let identity = try IdentityBody(&fields, isRequired: true)
        try fields.finish(ignoring: [])
        var user = user
        if let external = identity.externalID, external != user {
            let document = try state.users[user].read() ?? User()
            guard Identity.isAnonymous(user, document.profile) else {
                throw .malformed(
                    "the external_id of a user cannot be changed: transfer the subscriptions")
            }
            let other = try state.users[external].read()
            guard other == nil else { return try conflict(identity, with: user) }
            if !identity.aliases.members.isEmpty,
                case .failure = try changing(user, ["aliases": .object(identity.aliases)], identity)
            {
                return try conflict(identity, with: user)
            }
            guard try state.name(user, as: external) else {
                return try conflict(identity, with: user)
            }
            user = external
        }
        switch try changing(user, ["aliases": .object(identity.aliases)], identity) {
        case .success(let document):
            return .ok(["identity": Identity.shown(user, document.profile)])
        case .failure: return try conflict(identity, with: user)
        }
    }

    @export(interface)
    package func removeAlias(_ label: String, of user: UserID) throws(Failure) -> Response {
        guard label != Identity.externalID, label != Identity.ownID else {
            throw .malformed("\(label) cannot be removed")
        }
        let document = try state.users[user].read()
        guard document?.profile.alias(label) != nil else {
            throw .refused(.notFound, "the user has no alias \(label)")
        }
        let change = try ProfileChange(Fields(["aliases": .object([label: .null])]))
        let changed = try state.change(user, by: change, as: request)
        return .ok(["identity": Identity.shown(user, changed.profile)])
    }

    /// - Returns: a failure if another user has one of the aliases.
    private func changing(
        _ user: UserID, _ members: JSONObject, _ identity: IdentityBody
    ) throws(Failure) -> Result<User, Failure> {
        let change = try PropertiesBody.change(members)
        do throws(Failure) {
            return .success(try state.change(user, by: change, as: request))
        } catch {
            guard error.disposition == .refused(.conflict) else { throw error }
            return .failure(error)
        }
    }

    /// The users who have one of the aliases, each once.
    private func owners(of identity: IdentityBody) throws(Failure) -> [UserID] {
        var owners: [UserID] = []
        for (label, id) in identity.all {
            guard let user = try state.user(label, id), !owners.contains(user) else { continue }
            owners.append(user)
        }
        return owners
    }

    /// OneSignal's answer if another user than `user` has one of the aliases.
    private func conflict(
        _ identity: IdentityBody, with user: UserID?
    ) throws(Failure) -> Response {
        var claimed = JSONObject()
        for (label, id) in identity.all {
            guard let owner = try state.user(label, id), owner != user else { continue }
            claimed[label] = .string(id)
        }
        let title = "One or more Aliases claimed by another User"
        Log().failure(.refused(.conflict, title))
        return Response(
            status: 409,
            body: [
                "errors": [
                    [
                        "code": "user-2", "title": .string(title),
                        "meta": .object(claimed),
                    ]
                ]
            ])
    }
}

extension Profile {
    /// The members that OneSignal calls a user's properties. Without a value, a member is missing.
    var properties: JSONValue {
        var members: JSONObject = ["tags": .object(tags)]
        members["language"] = language.map { .string($0.text) }
        members["timezone_id"] = timeZone.map { .string($0) }
        members["country"] = country.map { .string($0.text) }
        members["first_active"] = firstSession.map { .integer($0.seconds) }
        members["last_active"] = lastSession.map { .integer($0.seconds) }
        return .object(members)
    }
}

extension Fields {
    /// Reads an array, which may be missing.
    fileprivate mutating func array(_ name: String) throws(Failure) -> [JSONValue] {
        guard let value = take(name) else { return [] }
        guard let array = value.array else { throw .malformed("\(name) must be an array") }
        return array
    }

    /// Reads `deltas`: how many sessions to add. How long they took is not kept.
    fileprivate mutating func newSessions() throws(Failure) -> Int64 {
        guard let members = try object("deltas") else { return 0 }
        var fields = Fields(members, of: "deltas")
        let count = try fields.integer("session_count") ?? 0
        _ = try fields.integer("session_time")
        try fields.finish(ignoring: []) { unknownHere($0) }
        guard (0...1_000_000).contains(count) else {
            throw .malformed("deltas.session_count must be 0 to 1000000")
        }
        return count
    }
}
