import Edge
import Messages
import Store
import Turnstone

/// The recipients of a notification, as OneSignal's requests name them.
struct Targets {
    private var aliases: [(label: String, ids: [String])] = []
    private var subscriptions: [String] = []
    /// The name of the member that has them.
    private var subscriptionsName = "include_subscription_ids"
    /// Whether the aliases are those of the older member `include_external_user_ids`.
    private var hasExternalIDs = false
    private var tokens: [String] = []
    private var segments: [String] = []
    private var excluded: [String] = []
    private var filters: JSONValue?
    /// The member that has them.
    private var filtersName = "filters"
    private var platforms: [Platform]?

    init(_ fields: inout Fields) throws(Failure) {
        // The second one is that of the older client.
        for name in ["target_channel", "channel_for_external_user_ids"] {
            guard let channel = try fields.optionalText(name), channel != "push" else { continue }
            throw unsupported("\(name) \(channel)", "only push is")
        }
        try takePeople(&fields)
        segments = try fields.texts("included_segments") ?? []
        excluded = try fields.texts("excluded_segments") ?? []
        if let json = fields.take("filters"), json != .array([]) {
            filters = try Filters.translated(json)
        }
        if let json = fields.take("tags"), json != .array([]) {
            guard filters == nil else { throw .malformed("use either filters or tags") }
            filtersName = "tags"
            filters = try Filters.translated(tags: json)
        }
        platforms = try fields.platforms()
        let people = aliases.count + subscriptions.count + tokens.count
        let ways = [people > 0, !segments.isEmpty, filters != nil].count { $0 }
        guard ways > 0 else {
            throw .malformed(
                "You must include which players, segments, or tags you wish to send this notification to."
            )
        }
        guard ways == 1 else {
            throw .malformed(
                "use only one of included_segments, filters, and include_aliases or include_subscription_ids"
            )
        }
    }

    private mutating func takePeople(_ fields: inout Fields) throws(Failure) {
        if let labels = try fields.object("include_aliases") {
            var inner = Fields(labels, of: "include_aliases")
            for label in labels.members {
                let ids = try inner.texts(label.name) ?? []
                if !ids.isEmpty { aliases.append((label.name, ids)) }
            }
        }
        if let ids = try fields.texts("include_external_user_ids"), !ids.isEmpty {
            hasExternalIDs = true
            aliases.append((Identity.externalID, ids))
        }
        for name in ["include_subscription_ids", "include_player_ids"] {
            guard let ids = try fields.texts(name), !ids.isEmpty else { continue }
            subscriptions += ids
            subscriptionsName = name
        }
        let ofApple = try fields.texts("include_ios_tokens") ?? []
        guard ofApple.allSatisfy({ DeviceToken($0, on: .ios) != nil }) else {
            throw .malformed(
                "each token in include_ios_tokens must be \(DeviceToken.form(on: .ios))")
        }
        tokens += ofApple
        tokens += try fields.texts("include_android_reg_ids") ?? []
    }

    /// The recipients, and what OneSignal's answer says about those who are not known; `nil` instead of the
    /// recipients if nobody is known.
    ///
    /// - Throws: unacceptable for an unknown segment.
    func resolved(
        in state: State
    ) throws(Failure) -> (audience: Audience?, invalid: JSONObject) {
        var members = JSONObject()
        var invalid = JSONObject()
        let users = try knownUsers(in: state, &invalid)
        var tokens = tokens
        let found = try state.registry.devices(withIDs: subscriptions)
        tokens += found.filter { $0.device.takesMessages(by: state.services) }
            .map { $0.device.token.text }
        let known = Set(found.map { $0.id })
        let unknown = subscriptions.filter { !known.contains($0) }
        invalid["invalid_player_ids"] = unknown.isEmpty ? nil : JSONValue(texts: unknown)
        members["users"] = users.isEmpty ? nil : JSONValue(texts: users)
        members["devices"] = tokens.isEmpty ? nil : JSONValue(texts: tokens)
        if let filters { members["filters"] = filters }
        if segments.contains(where: { Segments.namesOfAll.contains($0) }) {
            members["everyone"] = true
            try requireKnown(segments, in: state)
        } else if !segments.isEmpty {
            members["segments"] = JSONValue(texts: segments)
        }
        try requireKnown(excluded, in: state)
        let isNobody = excluded.contains { Segments.namesOfAll.contains($0) }
        guard !members.members.isEmpty, !isNobody else { return (nil, invalid) }
        members["exclude_segments"] = excluded.isEmpty ? nil : JSONValue(texts: excluded)
        var fields = Fields(members)
        do throws(Failure) {
            var audience = try Audience(&fields, reaching: state.services)
            audience.platforms = platforms
            return (audience, invalid)
        } catch {
            throw error.renamed([
                (
                    "segments and exclude_segments", "included_segments and excluded_segments"
                ),
                (
                    "each token in devices", "each token in include_android_reg_ids"
                ),
                ("a token in devices", "a token in include_android_reg_ids"),
                ("filters", filtersName),
            ])
        }
    }

    /// - Throws: unacceptable for a name that is neither a segment's nor means everybody.
    private func requireKnown(_ names: [String], in state: State) throws(Failure) {
        let names = names.filter { !Segments.namesOfAll.contains($0) }
        guard !names.isEmpty else { return }
        let known = try state.segments.all()
        for name in names where Segments.find(name, among: known) == nil {
            throw Segments.unknown(name)
        }
    }

    private func knownUsers(
        in state: State, _ invalid: inout JSONObject
    ) throws(Failure) -> [String] {
        var users: [String] = []
        var unknown = JSONObject()
        for (label, ids) in aliases {
            var missing: [String] = []
            for id in ids {
                if let user = try state.user(label, id) {
                    users.append(user.text)
                } else {
                    missing.append(id)
                }
            }
            if !missing.isEmpty { unknown[label] = JSONValue(texts: missing) }
        }
        guard !unknown.members.isEmpty else { return users }
        if hasExternalIDs {
            invalid["invalid_external_user_ids"] = unknown[Identity.externalID]
        } else {
            invalid["invalid_aliases"] = .object(unknown)
        }
        return users
    }
}

extension Fields {
    /// Reads `isIos` and the like; `nil` if there is none of them.
    fileprivate mutating func platforms() throws(Failure) -> [Platform]? {
        let names: [(name: String, platform: Platform?)] = [
            ("isIos", .ios), ("isAndroid", .android), ("isAnyWeb", .web), ("isChromeWeb", .web),
            ("isFirefox", .web), ("isSafari", .web), ("isHuawei", nil), ("isADM", nil),
            ("isWP_WNS", nil), ("isChrome", nil),
        ]
        var stated = false
        var platforms: [Platform] = []
        for (name, platform) in names {
            guard try boolean(name) == true else { continue }
            stated = true
            if let platform { platforms.append(platform) }
        }
        return stated ? platforms : nil
    }
}
