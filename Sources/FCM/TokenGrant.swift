import HTTP2
import JSON
import PushServices
import Turnstone

/// An access token as Google's token server gives it (RFC 6749 section 5.1).
package struct TokenGrant: Equatable, Sendable {
    package let text: String
    /// `expires_in`, at most a day.
    package let life: Interval

    package init(text: String, life: Interval) {
        self.text = text
        self.life = life
    }

    /// `nil` unless the answer's body has a bearer token of visible ASCII and its life.
    init?(_ body: [UInt8]) {
        guard let members = parsed(body), let text = members["access_token"]?.string,
            !text.isEmpty, text.utf8.allSatisfy({ (0x21...0x7e).contains($0) }),
            let type = members["token_type"]?.string, type.lowercased() == "bearer",
            let seconds = members["expires_in"]?.integer, seconds > 0
        else { return nil }
        self.init(text: text, life: .seconds(min(seconds, 86_400)))
    }
}

/// Why no access token could be fetched.
package struct TokenFailure: Error, Equatable, Sendable {
    /// A few words, without anything secret.
    package let reason: String
    /// Whether an operator has to act: the account, its key or this machine's clock is wrong.
    package let isLasting: Bool
    /// The pause that the server asked for.
    package let pause: Interval?

    package init(reason: String, isLasting: Bool, pause: Interval? = nil) {
        self.reason = reason
        self.isLasting = isLasting
        self.pause = pause
    }

    /// Reads an error answer (RFC 6749 section 5.2).
    init(_ answer: ClientEvent.Answer, now: Timestamp) {
        let members = answer.text.flatMap(parsed)
        var words = members?["error"]?.string ?? "HTTP \(answer.status)"
        if let more = members?["error_description"]?.string { words += " (\(more))" }
        let printable = words.utf8.prefix(200).filter { (0x20...0x7e).contains($0) }
        reason = FCMSettings.noToken + String(decoding: printable, as: UTF8.self)
        isLasting = !(answer.status == 408 || answer.status == 429 || answer.status >= 500)
        pause = retryAfter(answer.fields, now: now)
    }
}

func parsed(_ body: [UInt8]) -> JSONObject? {
    do throws(JSONError) { return try JSON.parse(body).object } catch { return nil }
}
