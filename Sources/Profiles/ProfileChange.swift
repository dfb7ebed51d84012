import Edge
import Store
import Turnstone
import Unix

/// A change of what is known of a user: only what a request names (RFC 7396). `null` removes a value.
package struct ProfileChange {
    /// By label.
    private let aliases: [(label: String, alias: Alias?)]
    /// Whether it may change aliases that only OneSignal's routes give.
    private let givesReservedAliases: Bool
    /// By name, with `null` for one that is removed.
    private let tags: JSONObject
    private let language: Setting<LanguageTag>
    private let timeZone: Setting<String>
    private let country: Setting<CountryCode>
    private let firstSession: Setting<Timestamp>
    private let lastSession: Setting<Timestamp>
    private let sessionCount: Int64?
    /// The number of sessions to count, the last of which begins now.
    private let addedSessions: Int64
    private let devices: [DeviceChange]

    /// Reads all members of a request's body.
    ///
    /// - Parameters:
    ///   - givesReservedAliases: whether it may change aliases that only OneSignal's routes give.
    ///   - addedSessions: the number of sessions to count, the last of which begins now.
    /// - Throws: malformed if a member is unknown or has the wrong type, unacceptable for a wrong value.
    @export(interface)
    package init(
        _ body: Fields, givingReservedAliases givesReservedAliases: Bool = false,
        addingSessions addedSessions: Int64 = 0
    ) throws(Failure) {
        self.givesReservedAliases = givesReservedAliases
        var fields = body
        aliases = try fields.aliases()
        tags = try fields.tags()
        language = try fields.setting("language", else: "a language such as de, pt-BR or zh-Hant") {
            (text) throws(Failure) in LanguageTag(text)
        }
        timeZone = try fields.setting("timeZone", else: "a known name such as Europe/Berlin") {
            (text) throws(Failure) in try systemCalls(WallClock.knows(text)) ? text : nil
        }
        country = try fields.setting("country", else: "the two letters of a country, such as DE") {
            (text) throws(Failure) in CountryCode(text)
        }
        firstSession = try fields.momentSetting("firstSession")
        lastSession = try fields.momentSetting("lastSession")
        sessionCount = try fields.sessionCount()
        self.addedSessions = try fields.boolean("session") == true ? 1 : addedSessions
        var devices: [DeviceChange] = []
        for member in try fields.object("devices")?.members ?? [] {
            guard let members = member.value.object else {
                throw .malformed("\(fields.path(of: "devices.\(member.name)")) must be an object")
            }
            devices.append(
                try DeviceChange(
                    member.name, Fields(members, of: fields.path(of: "devices.\(member.name)"))))
        }
        self.devices = devices
        try fields.finish()
    }

    /// The aliases that the user is to have.
    var claimed: [Alias] { aliases.compactMap { $0.alias } }

    /// Makes the change, and counts it if it changes anything.
    ///
    /// - Throws: unacceptable if the user would have too many aliases or tags.
    func apply(to document: inout User, at now: Timestamp) throws(Failure) {
        let before = document
        for (label, alias) in aliases {
            let known = document.profile.alias(label)
            guard
                givesReservedAliases || alias == known || !(Alias(label, "-")?.isReserved ?? false)
            else {
                throw .unacceptable("aliases.\(label) cannot be changed: this server gives it")
            }
            if let alias {
                document.profile.set(alias)
            } else {
                document.profile.removeAlias(label)
            }
        }
        try checkCount(document.profile.aliases.count, Alias.most, "aliases")
        for tag in tags.members {
            document.profile.tags[tag.name] = tag.value == .null ? nil : tag.value
        }
        try checkCount(document.profile.tags.members.count, Profile.mostTags, "tags")
        language.apply(to: &document.profile.language)
        timeZone.apply(to: &document.profile.timeZone)
        country.apply(to: &document.profile.country)
        firstSession.apply(to: &document.profile.firstSession)
        lastSession.apply(to: &document.profile.lastSession)
        document.profile.sessionCount = sessionCount ?? document.profile.sessionCount
        document.profile.addSessions(addedSessions, at: now)
        for device in devices { try device.apply(to: &document.devices) }
        document.isErasing = false
        if document != before {
            document.profile.revision = now.revision(after: document.profile.revision)
        }
    }

    private func checkCount(_ count: Int, _ most: Int, _ name: String) throws(Failure) {
        guard count <= most else {
            throw .unacceptable("the user would have \(count) \(name); at most \(most) are allowed")
        }
    }
}

extension Fields {
    /// Takes `profile`: what an app tells of its user when it registers a device.
    @export(interface)
    package mutating func profile() throws(Failure) -> ProfileChange? {
        guard let members = try object("profile") else { return nil }
        return try ProfileChange(Fields(members, of: "profile"))
    }

    fileprivate mutating func aliases() throws(Failure) -> [(label: String, alias: Alias?)] {
        var aliases: [(label: String, alias: Alias?)] = []
        for member in try object("aliases")?.members ?? [] {
            guard Alias.isPart(member.name) else {
                throw .unacceptable("the label of an alias must have 1 to 128 bytes without NUL")
            }
            guard member.value != .null else {
                aliases.append((member.name, nil))
                continue
            }
            guard let id = member.value.string else {
                throw .malformed("\(path(of: "aliases.\(member.name)")) must be a string")
            }
            guard let alias = Alias(member.name, id) else {
                throw .unacceptable(
                    "\(path(of: "aliases.\(member.name)")) must have 1 to 128 bytes without NUL")
            }
            aliases.append((member.name, alias))
        }
        return aliases
    }

    fileprivate mutating func tags() throws(Failure) -> JSONObject {
        let tags = try object("tags") ?? [:]
        for tag in tags.members {
            guard (1...Profile.longestTagName).contains(tag.name.utf8.count) else {
                throw .unacceptable(
                    "a tag's name must have 1 to \(Profile.longestTagName) bytes")
            }
            let length: Int
            switch tag.value {
            case .null, .integer: length = 0
            case .string(let text): length = text.utf8.count
            case .number(let number): length = number.text.utf8.count
            default:
                throw .malformed("\(path(of: "tags.\(tag.name)")) must be a string or a number")
            }
            guard length <= Profile.longestTagValue else {
                throw .unacceptable(
                    "\(path(of: "tags.\(tag.name)")) must have at most \(Profile.longestTagValue) bytes"
                )
            }
        }
        return tags
    }

    fileprivate mutating func sessionCount() throws(Failure) -> Int64? {
        if rest["sessionCount"] == .null {
            _ = take("sessionCount")
            return 0
        }
        guard let count = try integer("sessionCount") else { return nil }
        guard (0...Profile.mostSessions).contains(count) else {
            throw .unacceptable(
                "\(path(of: "sessionCount")) must be 0 to \(Profile.mostSessions)")
        }
        return count
    }
}
