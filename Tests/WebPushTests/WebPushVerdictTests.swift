import Testing
import Turnstone

@testable import WebPush

@Suite struct WebPushVerdictTests {
    @Test(
        "answers",
        arguments: [
            (200, "", nil as Int64?, WebPushOutcome.accepted, nil as String?),
            (201, "", nil, .accepted, nil), (202, "", nil, .accepted, nil),
            (204, "", nil, .accepted, nil),
            (404, "", nil, .gone, "HTTP 404"),
            (410, #"{"reason": "Unsubscribed"}"#, nil, .gone, "Unsubscribed"),
            (410, #"{"code": 410, "errno": 106, "error": "Gone"}"#, nil, .gone, "errno 106"),
            (400, #"{"reason": "BadTtl"}"#, nil, .refused, "BadTtl"),
            (413, #"{"code": 413, "errno": 104}"#, nil, .refused, "errno 104"),
            (301, "", nil, .refused, "HTTP 301"), (307, "<html>", nil, .refused, "HTTP 307"),
            (405, "", nil, .refused, "HTTP 405"), (203, "", nil, .refused, "HTTP 203"),
            (429, "", 7, .laterAsAsked(pause: .seconds(7)), "HTTP 429"),
            (429, "", 10_000_000, .laterAsAsked(pause: .hours(24)), "HTTP 429"),
            (
                429, #"{"reason": "TooManyRequests"}"#, nil, .later(pause: .seconds(10)),
                "TooManyRequests"
            ),
            (503, "", 120, .laterAsAsked(pause: .seconds(120)), "HTTP 503"),
            (500, "", nil, .later(pause: .seconds(30)), "HTTP 500"),
            (503, #"{"errno": 202}"#, nil, .later(pause: .seconds(30)), "errno 202"),
            (403, #"{"reason": "BadJwtToken"}"#, nil, .originPaused(.minutes(15)), "BadJwtToken"),
            (401, "", nil, .originPaused(.minutes(15)), "HTTP 401"),
            (403, #"{"reason": "VapidPkHashMismatch"}"#, nil, .unusable, "VapidPkHashMismatch"),
            (
                401, #"{"errno": 109, "message": "Public key mismatch"}"#, nil, .unusable,
                "errno 109"
            ),
            (
                401, #"{"errno": 109, "message": "Expired"}"#, nil, .originPaused(.minutes(15)),
                "errno 109"
            ),
            (
                403,
                "the VAPID credentials in the authorization header do not correspond to the credentials used to create the subscriptions.",
                nil, .unusable, "VapidPkHashMismatch"
            ),
            (400, #"{"reason": "\u001b[31mred\nline"}"#, nil, .refused, "[31mredline"),
            (400, #"{"reason": 7}"#, nil, .refused, "HTTP 400"),
        ])
    func answers(
        status: Int, body: String, retryAfter: Int64?, outcome: WebPushOutcome, reason: String?
    ) {
        let verdict = WebPushVerdict(
            status: status, body: Array(body.utf8), retryAfter: retryAfter.map { .seconds($0) })
        #expect(verdict.outcome == outcome)
        #expect(verdict.reason == reason)
        #expect(verdict.status == status)
    }
}
