import Edge
import Turnstone

// The members of `aps`. Apple: *Generating a remote notification*.

extension Fields {
    /// Takes the members for `aps`.
    ///
    /// - Parameter isSilent: whether `content_available` is true.
    /// - Returns: `aps`, the texts that are there in several languages, and the change to each user's badge.
    ///   `aps` has the texts for readers whose language is not known, and the badge of a user who had 0
    ///   before.
    mutating func aps(
        isSilent: Bool
    ) throws(Failure) -> (aps: JSONObject, AlertTranslations, badge: BadgeChange?) {
        let badge = try badgeChange()
        var aps = JSONObject()
        let (alert, translations) = try alert()
        if !alert.members.isEmpty { aps["alert"] = .object(alert) }
        aps["badge"] = badge.map { .integer($0.applied(to: 0)) }
        aps["sound"] = try sound()
        aps["thread-id"] = try nonEmptyText("thread_id")
        aps["category"] = try nonEmptyText("category")
        aps["interruption-level"] = try level()
        aps["relevance-score"] = try relevance()
        aps["mutable-content"] = try boolean("mutable_content") == true ? 1 : nil
        aps["content-available"] = isSilent ? 1 : nil
        aps["target-content-id"] = try nonEmptyText("target_content_id")
        return (aps, translations, badge)
    }

    /// Takes the member `badge`: a number sets the badge, a string such as `+1` changes it.
    @export(interface)
    package mutating func badgeChange() throws(Failure) -> BadgeChange? {
        guard let value = take("badge") else { return nil }
        guard value.integer != nil || value.string != nil else {
            throw .malformed("badge must be a number or a string such as +1")
        }
        guard let change = BadgeChange(value) else {
            throw .unacceptable("badge must be 0 to 999999, or a string such as +1 or -1")
        }
        return change
    }

    private mutating func alert() throws(Failure) -> (JSONObject, AlertTranslations) {
        var alert = JSONObject()
        var translations = AlertTranslations()
        for name in AlertTranslations.names {
            guard rest[name]?.object != nil else {
                alert[name] = try text(name).map { .string($0) }
                continue
            }
            let texts = try self.translations(name)
            alert[name] = (texts?.text(for: nil).text).map { .string($0) }
            translations[name] = texts
        }
        for (prefix, name) in [("title_", "title-"), ("subtitle_", "subtitle-"), ("", "")] {
            let key = try nonEmptyText("\(prefix)loc_key")
            let arguments = try texts("\(prefix)loc_args")
            guard arguments == nil || key != nil else {
                throw .unacceptable("\(prefix)loc_args requires \(prefix)loc_key")
            }
            alert["\(name)loc-key"] = key
            alert["\(name)loc-args"] = arguments.map { .array($0.map { .string($0) }) }
        }
        // What nobody sees is no alert: the message would be held, and then be shown empty.
        let aps: JSONObject = ["alert": .object(alert)]
        return (aps.showsText ? alert : [:], translations)
    }

    /// Takes a text in several languages.
    private mutating func translations(_ name: String) throws(Failure) -> Translations? {
        guard let members = try object(name) else { return nil }
        let path = path(of: name)
        var texts: [Translations.Text] = []
        for member in members.members {
            guard let language = LanguageTag(member.name) else {
                throw .unacceptable(
                    "\(path): \(member.name) is not a language such as en, pt-BR or zh-Hans")
            }
            guard let text = member.value.string else {
                throw .malformed("\(path).\(member.name) must be a string")
            }
            guard text.isVisible else {
                throw .unacceptable("\(path).\(member.name) must show something")
            }
            texts.append(Translations.Text(language, text))
        }
        guard !texts.isEmpty else {
            throw .malformed("\(path) must be a string, or an object with a text for each language")
        }
        guard texts.count <= Translations.most else {
            throw .unacceptable("\(path) must have at most \(Translations.most) languages")
        }
        guard let translations = Translations(texts) else {
            throw .unacceptable("\(path) has two texts in the same language")
        }
        return translations
    }

    private mutating func nonEmptyText(_ name: String) throws(Failure) -> JSONValue? {
        guard let text = try text(name) else { return nil }
        guard !text.isEmpty else { throw .malformed("\(name) must not be empty") }
        return .string(text)
    }

    /// Takes `sound`: a name, or for a critical alert `{"critical": true, "name", "volume": 0 to 1}`.
    private mutating func sound() throws(Failure) -> JSONValue? {
        guard let value = take("sound") else { return nil }
        if let name = value.string {
            guard !name.isEmpty else { throw .malformed("sound must not be empty") }
            return value
        }
        guard let members = value.object else {
            throw .malformed("sound must be a string or an object")
        }
        var fields = Fields(members, of: "sound")
        let isCritical = try fields.boolean("critical") ?? false
        let name = try fields.requiredText("name")
        let volume = try fields.fraction("volume")
        try fields.finish()
        var sound: JSONObject = ["name": .string(name)]
        if isCritical { sound["critical"] = 1 }
        sound["volume"] = volume
        return .object(sound)
    }

    private mutating func level() throws(Failure) -> JSONValue? {
        guard let level = try text("interruption_level") else { return nil }
        guard ["passive", "active", "time-sensitive", "critical"].contains(level) else {
            throw .unacceptable(
                "interruption_level must be passive, active, time-sensitive or critical")
        }
        return .string(level)
    }

    private mutating func relevance() throws(Failure) -> JSONValue? {
        try fraction("relevance_score")
    }

    private mutating func fraction(_ name: String) throws(Failure) -> JSONValue? {
        guard let value = take(name) else { return nil }
        switch value {
        case .integer(0), .integer(1): return value
        case .number(let number) where number.value >= 0 && number.value <= 1: return value
        case .integer, .number: throw .unacceptable("\(path(of: name)) must be between 0 and 1")
        default: throw .malformed("\(path(of: name)) must be a number")
        }
    }
}

extension JSONObject {
    /// Whether the user sees or hears a push with this `aps`.
    var showsSomething: Bool {
        if self["badge"] != nil || self["sound"] != nil { return true }
        return showsText
    }
}
