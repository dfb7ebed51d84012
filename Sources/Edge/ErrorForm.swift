import Turnstone

/// The form of an answer to a request that failed.
enum ErrorForm: Equatable {
    /// `{"error": "…"}`
    case plain
    /// `{"success": false, "error": "…"}`, below `/api/`.
    case api
    /// `{"errors": ["…"]}`, as OneSignal's clients expect it.
    case oneSignal

    func body(_ sentence: String) -> JSONValue {
        switch self {
        case .plain: ["error": .string(sentence)]
        case .api: ["success": false, "error": .string(sentence)]
        case .oneSignal: ["errors": [.string(sentence)]]
        }
    }

    /// The status of a refusal. OneSignal has fewer of them.
    func status(of refusal: Refusal) -> Int {
        guard self == .oneSignal else { return refusal.status }
        return switch refusal {
        case .unacceptable: 400
        case .unauthenticated, .unidentified: 403
        default: refusal.status
        }
    }

    /// OneSignal's own sentences, by which its clients recognize a failure (`onesignal/errors.py` in
    /// onesignal-python-api).
    func sentence(of failure: Failure) -> String? {
        guard self == .oneSignal else { return nil }
        return switch failure.disposition {
        case .refused(.unauthenticated), .refused(.unidentified):
            """
            Access denied.  Please include an 'Authorization: ...' header with a valid API key \
            (https://documentation.onesignal.com/docs/en/keys-and-ids#api-keys).
            """
        case .later: "Service temporarily unavailable"
        default: nil
        }
    }
}
