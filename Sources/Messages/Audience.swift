import Audiences
import Edge
import Store
import Turnstone

/// The recipients of a message as a request names them: users, devices and aliases one by one, or the users
/// who match segments or a filter.
package struct Audience {
    private let users: [UserID]
    /// As the request has them.
    private let tokens: [String]
    private let aliases: [Alias]
    /// Names or ids.
    private let segments: [String]
    private let excluded: [String]
    private let filter: Filter?
    private let isEveryone: Bool
    /// The platforms whose devices get the message; `nil` for all.
    package var platforms: [Platform]?

    /// The most segments that a request may name.
    private static let mostSegments = 50

    /// - Parameter services: the push services that this installation can reach.
    @export(interface)
    package init(
        _ fields: inout Fields, reaching services: PushServiceSet
    ) throws(Failure) {
        users = try fields.users()
        tokens = try fields.tokens(reaching: services)
        aliases = try fields.aliases()
        segments = try fields.texts("segments") ?? []
        excluded = try fields.texts("exclude_segments") ?? []
        filter = try fields.take("filters").map { (json) throws(Failure) in try Filter(json) }
        isEveryone = try fields.boolean("everyone") ?? false
        guard segments.count + excluded.count <= Self.mostSegments else {
            throw .unacceptable(
                "segments and exclude_segments must name at most \(Self.mostSegments) segments")
        }
        let ways = [!segments.isEmpty, filter != nil, isEveryone].count { $0 }
        let isNamed = !users.isEmpty || !tokens.isEmpty || !aliases.isEmpty
        guard isNamed || ways > 0 else {
            throw .malformed("users, devices, aliases, segments, filters or everyone is required")
        }
        guard ways + (isNamed ? 1 : 0) == 1 else {
            throw .unacceptable(
                "use either users, devices and aliases, or segments, or filters, or everyone")
        }
    }

    /// Looks the aliases and the segments up.
    ///
    /// - Throws: unacceptable if there is no such segment.
    func resolved(in state: State) throws(Failure) -> ResolvedAudience {
        var users = users
        for alias in aliases {
            if let user = try state.aliases.owner(of: alias) { users.append(user) }
        }
        var selection = Selection()
        if !segments.isEmpty || !excluded.isEmpty {
            let known = try state.segments.all()
            if !segments.isEmpty { selection.included = try filters(of: segments, among: known) }
            selection.excluded = try filters(of: excluded, among: known)
        }
        if let filter { selection.included = [filter] }
        if let platforms {
            for platform in Platform.all where !platforms.contains(platform) {
                selection.excluded.append(try Filter(platform))
            }
        }
        return ResolvedAudience(
            users: users, tokens: tokens, selection: selection,
            isOpen: isEveryone || filter != nil || !segments.isEmpty)
    }

    private func filters(
        of names: [String], among known: [Segments.Entry]
    ) throws(Failure) -> [Filter] {
        var filters: [Filter] = []
        for name in names {
            guard let entry = Segments.find(name, among: known) else {
                throw Segments.unknown(name)
            }
            filters.append(try Filter(entry.segment.filters))
        }
        return filters
    }
}

/// The recipients of a message, with the filters instead of the segments.
struct ResolvedAudience {
    let users: [UserID]
    /// The devices' tokens as the request has them.
    let tokens: [String]
    let selection: Selection
    /// Whether all users are candidates, rather than ``users``.
    let isOpen: Bool

    /// The user, if the message is for exactly one user and no tokens.
    var onlyUser: UserID? { users.count == 1 && tokens.isEmpty && !isOpen ? users[0] : nil }
}

extension Facts {
    /// The facts in a user's document about the user and one of the devices.
    package init(_ document: User, _ device: Device) { self.init(document.profile, device) }

    init(_ profile: Profile, _ device: Device) {
        self.init(profile, platform: device.platform, appVersion: device.appVersion)
    }
}

extension Fields {
    fileprivate mutating func users() throws(Failure) -> [UserID] {
        var users: [UserID] = []
        for text in try texts("users") ?? [] {
            guard let user = UserID(text) else { throw .malformed("users: \(UserID.rule)") }
            users.append(user)
        }
        return users
    }

    fileprivate mutating func tokens(
        reaching services: PushServiceSet
    ) throws(Failure) -> [String] {
        let tokens = try texts("devices") ?? []
        for text in tokens {
            guard let named = RawToken(text) else {
                throw .malformed("each token in devices must be \(RawToken.forms)")
            }
            guard services.contains(named.service) else { throw named.unreachable }
        }
        return tokens
    }

    fileprivate mutating func aliases() throws(Failure) -> [Alias] {
        guard let labels = try object("aliases") else { return [] }
        var aliases: [Alias] = []
        var fields = Fields(labels, of: "aliases")
        for label in labels.members {
            for id in try fields.texts(label.name) ?? [] {
                guard let alias = Alias(label.name, id) else {
                    throw .unacceptable(
                        "aliases: a label and an id must have 1 to 128 bytes without NUL")
                }
                aliases.append(alias)
            }
        }
        return aliases
    }
}
