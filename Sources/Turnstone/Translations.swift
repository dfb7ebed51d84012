/// A text in several languages.
package struct Translations: Equatable, Sendable {
    package struct Text: Equatable, Sendable {
        package let language: LanguageTag
        package var text: String

        package init(_ language: LanguageTag, _ text: String) {
            self.language = language
            self.text = text
        }
    }

    /// In the order of the request. No language is there twice.
    package private(set) var texts: [Text]

    /// The most languages of one text.
    package static let most = 64

    /// - Returns: `nil` without a text, or if a language is there twice.
    package init?(_ texts: [Text]) {
        guard !texts.isEmpty else { return nil }
        for (place, text) in texts.enumerated() {
            let isRepeated = texts[..<place].contains { $0.language == text.language }
            if isRepeated { return nil }
        }
        self.texts = texts
    }

    /// The same with each text changed.
    package func mapped(_ change: (String) -> String) -> Translations {
        var translations = self
        for place in texts.indices { translations.texts[place].text = change(texts[place].text) }
        return translations
    }

    /// The text for a reader: in the nearest language (``LanguageTag/nearest(among:)``), otherwise in
    /// English, or else the first one.
    ///
    /// - Parameter language: `nil` if it is not known.
    package func text(for language: LanguageTag?) -> Text {
        let languages = texts.map { $0.language }
        let nearest = language?.nearest(among: languages)
        let chosen = nearest ?? LanguageTag.english.nearest(among: languages)
        return texts.first { $0.language == chosen } ?? texts[0]
    }
}

extension Translations {
    /// Reads `{"en": "…", "de": "…"}`; `nil` for anything else.
    package init?(_ json: JSONValue) {
        guard let members = json.object?.members else { return nil }
        var texts: [Text] = []
        for member in members {
            guard let language = LanguageTag(member.name), let text = member.value.string else {
                return nil
            }
            texts.append(Text(language, text))
        }
        self.init(texts)
    }

    package var json: JSONValue {
        var members = JSONObject()
        for text in texts { members.append(text.language.text, .string(text.text)) }
        return .object(members)
    }
}
