import HTTP2
import Turnstone

/// The result of a message: the part that its receipt shows, and the outcome.
package struct FCMVerdict: Equatable, Sendable {
    /// The HTTP status; `nil` if FCM gave no answer.
    package let status: Int?
    /// The reason that FCM gave, or why there is no answer; `nil` for an accepted message.
    package let reason: String?
    package let outcome: FCMOutcome
}

extension FCMVerdict {
    static func noAnswer(_ reason: String) -> FCMVerdict {
        FCMVerdict(status: nil, reason: reason, outcome: .noVerdict)
    }

    static func notSent(_ reason: String) -> FCMVerdict {
        FCMVerdict(status: nil, reason: reason, outcome: .notSent)
    }

    /// Reads an answer.
    ///
    /// - Parameter now: the time of the answer.
    init(_ answer: ClientEvent.Answer, now: Timestamp) {
        status = answer.status
        // The status counts even if the body cannot be read.
        let text = answer.text
        let members = text.flatMap(parsed)
        if answer.status == 200 {
            reason = nil
            outcome = .accepted(name: members?["name"]?.string)
            return
        }
        let error = FCMError(members)
        reason =
            text == nil ? "HTTP \(answer.status), unreadable" : error.reason(status: answer.status)
        let outcome = FCMOutcome(status: answer.status, error, now: now)
        if case .later = outcome, let pause = retryAfter(answer.fields, now: now) {
            self.outcome = .laterAsAsked(pause: pause)
        } else {
            self.outcome = outcome
        }
    }
}

extension FCMOutcome {
    /// Derives the outcome from FCM's own error code, else from the status.
    ///
    /// Google: *FCM error codes*.
    init(status: Int, _ error: FCMError, now: Timestamp) {
        switch error.code {
        case "UNREGISTERED": self = .gone(since: now)
        case "SENDER_ID_MISMATCH": self = .mismatched
        case "INVALID_ARGUMENT": self = error.isAboutToken ? .badToken : .refused
        // A new access token would change nothing.
        case "THIRD_PARTY_AUTH_ERROR": self = .foreign
        case "QUOTA_EXCEEDED": self = .later(pause: .minutes(1))
        case "UNAVAILABLE", "INTERNAL", "UNSPECIFIED_ERROR": self = .later(pause: .seconds(1))
        default: self = .plain(status: status, error)
        }
    }

    /// The outcome without an error code that we know. A token is removed by FCM's own code only: a wrong
    /// project or address gives 403 and 404 for every token.
    private static func plain(status: Int, _ error: FCMError) -> FCMOutcome {
        switch status {
        case 200: .accepted(name: nil)
        case 401: .renewToken
        case 300...399, 403, 404, 405: .stopQueue
        case 408: .later(pause: .seconds(1))
        case 429: .later(pause: .minutes(1))
        case 400 where error.isAboutToken: .badToken
        case 400...499: .refused
        default: .later(pause: .seconds(1))
        }
    }
}
