/// A language, with a script and a region if it needs them: `en`, `pt-BR`, `zh-Hant-TW` (RFC 5646 section
/// 2.1, without the rarer parts).
package struct LanguageTag: Hashable, Sendable {
    /// In the customary case: `zh-Hant-TW`.
    package let text: String

    /// - Parameter text: in any case; `nil` unless it is a language of 2 or 3 letters, maybe a script of 4
    ///   letters, maybe a region of 2 letters or 3 digits.
    package init?(_ text: String) {
        var parts = text.utf8.split(separator: UInt8(ascii: "-"), omittingEmptySubsequences: false)
            .map { Array($0) }[...]
        guard let language = parts.popFirst(), (2...3).contains(language.count),
            language.allSatisfy({ isLetter($0) })
        else { return nil }
        var words = [language.map { $0 | 0x20 }]
        if let script = parts.first, script.count == 4, script.allSatisfy({ isLetter($0) }) {
            parts.removeFirst()
            words.append([script[0] & 0xDF] + script.dropFirst().map { $0 | 0x20 })
        }
        if let region = parts.popFirst() {
            let isCountry = region.count == 2 && region.allSatisfy { isLetter($0) }
            let isArea = region.count == 3 && region.allSatisfy { (48...57).contains($0) }
            guard isCountry || isArea else { return nil }
            words.append(isCountry ? region.map { $0 & 0xDF } : region)
        }
        guard parts.isEmpty else { return nil }
        self.text = String(
            decoding: Array(words.joined(separator: [UInt8(ascii: "-")])), as: UTF8.self)
    }

    package static let english = LanguageTag(known: "en")

    /// - Parameter text: in the customary case.
    private init(known text: String) { self.text = text }

    /// The parts between hyphens.
    private var parts: [Substring.UTF8View] {
        text.utf8.split(separator: UInt8(ascii: "-"))
    }

    /// The language without script and region: `zh`.
    package var primary: String { String(decoding: Array(parts[0]), as: UTF8.self) }

    /// The script, such as `Hant`. For Chinese it follows from the region if it is not there: `Hant` in
    /// Taiwan, Hong Kong and Macao, otherwise `Hans`. `nil` if it is not known.
    package var script: String? {
        let parts = parts
        if parts.count > 1, parts[1].count == 4 {
            return String(decoding: Array(parts[1]), as: UTF8.self)
        }
        guard parts[0].elementsEqual("zh".utf8) else { return nil }
        let isTraditional = ["TW", "HK", "MO"].contains {
            parts.last?.elementsEqual($0.utf8) == true
        }
        return isTraditional ? "Hant" : "Hans"
    }

    /// The tags under which a reader's text is looked for, the best one first: `zh-TW`, `zh-Hant`, `zh`.
    package var lookup: [LanguageTag] {
        var tags = [self]
        if let script { tags.append(LanguageTag(known: "\(primary)-\(script)")) }
        tags.append(LanguageTag(known: primary))
        return tags
    }

    /// Which of some languages a reader of this one understands best: the tag itself, then without its last
    /// parts (RFC 4647 section 3.4), then the first variety of the language, preferably in the same script;
    /// `nil` if there is none.
    package func nearest(among languages: [LanguageTag]) -> LanguageTag? {
        for tag in lookup where languages.contains(tag) { return tag }
        let varieties = languages.filter { $0.primary == primary }
        return varieties.first { $0.script == script } ?? varieties.first
    }

    /// Whether it is a language or a variety of it: `pt-BR` is within `pt` (RFC 4647 section 3.3.1).
    package func isWithin(_ other: LanguageTag) -> Bool {
        text.utf8.starts(with: other.text.utf8)
            && (text.utf8.count == other.text.utf8.count
                || text.utf8.dropFirst(other.text.utf8.count).first == UInt8(ascii: "-"))
    }
}

func isLetter(_ byte: UInt8) -> Bool {
    (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte | 0x20)
}
