import JSON
import Turnstone

extension PushContent {
    /// The same with the alert's text cut so that the payload fits, whatever the user's badge will be.
    ///
    /// - Parameter badge: the message's change to the badge.
    /// - Throws: too large if the payload does not fit even without the text.
    @export(interface)
    package func fitting(_ badge: BadgeChange?) throws(Failure) -> PushContent {
        let limit = type.payloadLimit
        func size(_ payload: Payload) -> Int {
            max(payload.text.count, apnsPayload(of: payload).text.count)
        }
        var longest = payload
        if case .add = badge { longest = longest.with(badge: BadgeChange.maximum) }
        guard longest.cut(to: limit, size: size) != nil,
            let fitting = payload.cut(to: limit, size: size)
        else {
            let shortest = longest.alertText == nil ? longest : longest.with(alertText: "…")
            throw .refused(
                .tooLarge,
                "the payload has \(size(shortest)) bytes without its body; the limit is \(limit)"
            )
        }
        var content = self
        content.payload = fitting
        return content
    }

    /// The most bytes that all texts in several languages may have together, as JSON. A held message keeps
    /// them for each device.
    private static let mostTranslated = 128 << 10

    /// The same with each text in several languages cut to what can ever be sent.
    ///
    /// - Throws: too large if there is a choice of languages in which the payload does not fit even without
    ///   its body, or if all texts together are too long.
    func withFittingTranslations(_ badge: BadgeChange?) throws(Failure) -> PushContent {
        guard !translations.isEmpty else { return self }
        var content = self
        content.translations["body"] = translations["body"]?.mapped { text in
            shortened(text, to: type.payloadLimit)
        }
        var longest = self
        var alert = payload.alert ?? [:]
        for (name, translations) in translations.members {
            let texts = translations.texts.map { $0.text }
            let text = texts.max { encodedLength($0) < encodedLength($1) }
            alert[name] = text.map { .string($0) }
        }
        longest.payload.alert = alert
        do throws(Failure) { _ = try longest.fitting(badge) } catch {
            throw .refused(
                .tooLarge, "with the longest title and subtitle of all languages, \(error.sentence)"
            )
        }
        let size = JSON.text(content.translations.json).count
        guard size <= Self.mostTranslated else {
            throw .refused(
                .tooLarge,
                "title, subtitle and body have \(size) bytes in all languages together; the limit is \(Self.mostTranslated)"
            )
        }
        return content
    }
}

/// The bytes of a text in JSON, without its quotes.
private func encodedLength(_ text: String) -> Int { JSON.text(.string(text)).count - 2 }

/// Cuts a text between two characters if it has more than `limit` bytes in JSON.
private func shortened(_ text: String, to limit: Int) -> String {
    guard encodedLength(text) > limit else { return text }
    var end = text.startIndex
    var room = limit - "…".utf8.count
    while end < text.endIndex {
        let next = text.index(after: end)
        room -= encodedLength(String(text[end..<next]))
        guard room >= 0 else { break }
        end = next
    }
    return String(text[..<end]) + "…"
}
