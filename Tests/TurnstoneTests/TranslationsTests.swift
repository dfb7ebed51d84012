import Testing
import Turnstone

@Suite struct TranslationsTests {
    @Test(
        "a reader gets the text in the own language, or else the nearest one",
        arguments: [
            ("de", "en de fr", "de"), ("de-AT", "en de fr", "de"), ("pt-BR", "pt-PT pt en", "pt"),
            ("pt-BR", "pt-PT pt-BR pt", "pt-BR"), ("pt", "en pt-PT pt-BR", "pt-PT"),
            ("pt-AO", "en pt-BR", "pt-BR"), ("zh-TW", "zh-Hans zh-Hant", "zh-Hant"),
            ("zh-Hant-HK", "zh-Hans zh-TW", "zh-TW"), ("zh-CN", "zh-Hant zh-Hans", "zh-Hans"),
            ("zh", "zh-Hant zh-Hans en", "zh-Hans"), ("zh-TW", "en zh-Hans", "zh-Hans"),
            ("sr-Latn", "sr-Cyrl sr-Latn-RS", "sr-Latn-RS"), ("ja", "fr en de", "en"),
            ("ja", "fr en-GB de", "en-GB"), ("ja", "fr de", "fr"), ("", "fr en", "en"),
            ("", "fr de", "fr"), ("ptx", "pt en", "en"), ("EN-us", "en-AU en-US", "en-US"),
        ])
    func nearest(reader: String, given: String, chosen: String) throws {
        let texts = try given.split(separator: " ").map {
            Translations.Text(try #require(LanguageTag(String($0))), "text in \($0)")
        }
        let translations = try #require(Translations(texts))
        let language = LanguageTag(reader)
        #expect(translations.text(for: language).language.text == chosen)
        #expect(translations.text(for: language).text == "text in \(chosen)")
    }

    @Test("no language may be there twice, and at least one must be")
    func refused() throws {
        #expect(Translations([]) == nil)
        #expect(Translations(["en": "a", "EN": "b"]) == nil)
        #expect(Translations(["en": 1]) == nil && Translations(["e": "a"]) == nil)
        #expect(Translations("a") == nil)
    }

    @Test("they survive being written and read")
    func json() throws {
        var texts = AlertTranslations()
        texts["title"] = Translations(["en": "a", "de": "b"])
        texts["body"] = Translations(["en": "only"])  // needs no choice
        #expect(texts.json == ["title": ["en": "a", "de": "b"]])
        #expect(AlertTranslations(texts.json) == texts)
        #expect(AlertTranslations(["title": ["x": "y"]]) == nil)
    }
}
