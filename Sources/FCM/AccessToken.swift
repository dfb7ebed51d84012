import Turnstone

/// The credential that FCM accepts from us, and when it must be replaced.
package struct AccessToken: Equatable, Sendable {
    /// It follows `Bearer ` in the header. It must not be logged.
    package let text: String
    package let fetched: Timestamp
    /// When Google stops accepting it.
    package let expires: Timestamp
    /// Whether it replaced a token that FCM refused before its time.
    package let isReplacement: Bool
    /// Whether FCM has refused it.
    package var isRefused = false

    package init(
        text: String, fetched: Timestamp, expires: Timestamp, isReplacement: Bool = false
    ) {
        self.text = text
        self.fetched = fetched
        self.expires = expires
        self.isReplacement = isReplacement
    }

    /// When it is replaced: five minutes before its end, or after half of a short life.
    var renewal: Timestamp {
        let life = (expires - fetched).milliseconds
        return expires - .milliseconds(min(Interval.minutes(5).milliseconds, max(0, life / 2)))
    }

    /// Whether FCM accepts it at this moment, as far as we know.
    func isValid(at now: Timestamp) -> Bool {
        // A token from a clock that was ahead: nobody knows when it ends.
        now < expires && fetched <= now + .minutes(5)
    }

    /// Reads the form that ``members`` writes; `nil` if a member is missing.
    init?(_ members: JSONObject) {
        guard let text = members["text"]?.string, !text.isEmpty,
            let fetched = members["fetched"]?.timestamp, let expires = members["expires"]?.timestamp
        else { return nil }
        self.init(
            text: text, fetched: fetched, expires: expires,
            isReplacement: members["replacement"]?.bool ?? false)
        isRefused = members["refused"]?.bool ?? false
    }

    /// Moments are in milliseconds since 1970.
    var members: JSONObject {
        var members: JSONObject = [
            "text": .string(text), "fetched": JSONValue(fetched), "expires": JSONValue(expires),
            "replacement": .bool(isReplacement),
        ]
        members["refused"] = isRefused ? true : nil
        return members
    }
}
