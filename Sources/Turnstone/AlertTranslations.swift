/// The texts of an alert that are there in several languages, by their names in `aps.alert`.
package struct AlertTranslations: Equatable, Sendable {
    package private(set) var members: [(name: String, texts: Translations)] = []

    package init() {}

    /// The names that an alert's texts have.
    package static let names = ["title", "subtitle", "body"]

    package var isEmpty: Bool { members.isEmpty }

    /// Setting a text in one language has no effect.
    package subscript(name: String) -> Translations? {
        get { members.first { $0.name == name }?.texts }
        set {
            members.removeAll { $0.name == name }
            if let newValue, newValue.texts.count > 1 { members.append((name, newValue)) }
        }
    }

    /// The texts for a reader of a language; `nil` if it is not known.
    package func chosen(for language: LanguageTag?) -> [(name: String, text: Translations.Text)] {
        members.map { ($0.name, $0.texts.text(for: language)) }
    }

    package static func == (left: AlertTranslations, right: AlertTranslations) -> Bool {
        left.members.elementsEqual(right.members) { $0.name == $1.name && $0.texts == $1.texts }
    }
}

extension AlertTranslations {
    /// Reads the form that ``json`` writes; `nil` for anything else.
    package init?(_ json: JSONValue) {
        guard let texts = json.object?.members else { return nil }
        for text in texts {
            guard let translations = Translations(text.value) else { return nil }
            self[text.name] = translations
        }
    }

    /// `{"title": {"en": "…", "de": "…"}, …}`.
    package var json: JSONValue {
        var texts = JSONObject()
        for member in members { texts.append(member.name, member.texts.json) }
        return .object(texts)
    }
}

extension PushContent {
    /// The same with the texts for a reader of a language, and the language of its main text.
    ///
    /// - Parameter language: `nil` if it is not known.
    package func translated(for language: LanguageTag?) -> (PushContent, LanguageTag?) {
        guard !translations.isEmpty else { return (self, nil) }
        var content = self
        content.translations = AlertTranslations()
        var alert = payload.alert ?? [:]
        var shown: LanguageTag?
        for (name, text) in translations.chosen(for: language) {
            alert[name] = .string(text.text)
            if name == "body" || shown == nil { shown = text.language }
        }
        content.payload.alert = alert
        return (content, shown)
    }
}
