import JSON
import Turnstone

/// The result of a message: the part that its receipt shows, and the outcome.
package struct WebPushVerdict: Equatable, Sendable {
    /// The HTTP status; `nil` if the push service gave no answer.
    package let status: Int?
    /// The reason that the push service gave, or why there is no answer; `nil` for an accepted message.
    package let reason: String?
    package let outcome: WebPushOutcome

    /// The reason of a message that was not sent because earlier ones still wait for their answers.
    package static let slow = "the push service is slow"
    /// The same if only the earlier ones to the same user still wait.
    package static let unanswered = "earlier messages to the user got no answer"
    /// The reason of a message that was not sent because the push service asked for a pause for its browser.
    package static let pausedBrowser = "the push service asked for a pause for this browser"

    /// Whether the message was not sent, and the push service or our settings may be the reason: one user's
    /// browsers are not.
    package var isObstructed: Bool {
        status == nil && ![Self.slow, Self.unanswered, Self.pausedBrowser].contains(reason)
    }

    init(_ postponement: OriginState.Postponement) {
        self.init(reason: postponement.reason, .originPaused(postponement.pause))
    }

    init(status: Int? = nil, reason: String?, _ outcome: WebPushOutcome) {
        self.status = status
        self.reason = reason
        self.outcome = outcome
    }
}

extension WebPushVerdict {
    /// Reads an answer.
    ///
    /// RFC 8030 section 5; Apple: *Sending web push notifications in web apps and browsers*; Mozilla:
    /// *autopush-rs, HTTP endpoints for notifications*.
    ///
    /// - Parameter retryAfter: the pause that the answer asks for.
    init(status: Int, body: [UInt8], retryAfter: Interval?) {
        self.status = status
        guard !(200...202).contains(status), status != 204 else {
            reason = nil
            outcome = .accepted
            return
        }
        let answer = ErrorBody(body)
        reason = answer.reason ?? "HTTP \(status)"
        outcome =
            switch status {
            case 404, 410: .gone
            case 429, 500...599:
                if let retryAfter {
                    .laterAsAsked(pause: min(max(retryAfter, .seconds(1)), .hours(24)))
                } else {
                    .later(pause: status == 429 ? .seconds(10) : .seconds(30))
                }
            case 401, 403: answer.isOfAnotherKey ? .unusable : .originPaused(.minutes(15))
            case 400 where answer.isOfAnotherKey: .unusable
            default: .refused
            }
    }

    /// The part of an answer's body that says what is wrong.
    private struct ErrorBody {
        var reason: String?
        /// Whether the subscription was made with another VAPID key than ours.
        var isOfAnotherKey = false

        init(_ body: [UInt8]) {
            var members: JSONObject?
            do throws(JSONError) { members = try JSON.parse(body).object } catch {}
            if let text = members?["reason"]?.string {
                reason = printable(text)
                isOfAnotherKey = text == "VapidPkHashMismatch"
            } else if let number = members?["errno"]?.integer {
                reason = "errno \(number)"
                // Mozilla's 109 stands for every fault of the token; the message tells them apart.
                let message = members?["message"]?.string ?? ""
                isOfAnotherKey = number == 109 && contains(message.utf8, "key mismatch")
            } else {
                // Google: "the VAPID credentials in the authorization header do not correspond to the
                // credentials used to create the subscriptions."
                isOfAnotherKey = contains(body, "do not correspond to the credentials used")
                if isOfAnotherKey { reason = "VapidPkHashMismatch" }
            }
        }
    }
}

/// At most 64 printable characters of ASCII, as receipts and logs show a reason from outside.
private func printable(_ text: String) -> String? {
    let bytes = text.utf8.prefix(64).filter { (0x20...0x7e).contains($0) }
    return bytes.isEmpty ? nil : String(decoding: bytes, as: UTF8.self)
}

private func contains(_ bytes: some Collection<UInt8>, _ text: String) -> Bool {
    var rest = Array(bytes.prefix(4096))[...]
    let text = Array(text.utf8)
    while rest.count >= text.count {
        if rest.starts(with: text) { return true }
        rest = rest.dropFirst()
    }
    return false
}
