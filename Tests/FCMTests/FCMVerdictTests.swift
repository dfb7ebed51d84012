import JSON
import Testing
import Turnstone

@testable import FCM
@testable import HTTP2

@Suite struct FCMVerdictTests {
    fileprivate static let now = Timestamp("2026-11-21T12:00:00Z")!

    /// An answer's body, and its outcome.
    struct Row: CustomTestStringConvertible, Sendable {
        let status: Int
        var code: String?
        var info: String?
        var name: String?
        var field: String?
        var retryAfter: String?
        let reason: String?
        let outcome: FCMOutcome

        var testDescription: String { "\(status) \(code ?? "") \(info ?? "") \(field ?? "")" }

        var body: [UInt8] {
            var details: [JSONValue] = []
            if let field {
                details.append([
                    "@type": "type.googleapis.com/google.rpc.BadRequest",
                    "fieldViolations": [["field": .string(field)]],
                ])
            }
            if let code {
                details.append([
                    "@type": "type.googleapis.com/google.firebase.fcm.v1.FcmError",
                    "errorCode": .string(code),
                ])
            }
            if let info {
                details.append([
                    "@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": .string(info),
                ])
            }
            var error: JSONObject = ["code": .integer(Int64(status)), "details": .array(details)]
            error["status"] = name.map { .string($0) }
            return JSON.text(["error": .object(error)])
        }

        static let all: [Row] = [
            Row(
                status: 404, code: "UNREGISTERED", name: "NOT_FOUND", reason: "UNREGISTERED",
                outcome: .gone(since: FCMVerdictTests.now)),
            Row(
                status: 403, code: "SENDER_ID_MISMATCH", reason: "SENDER_ID_MISMATCH",
                outcome: .mismatched),
            Row(
                status: 400, code: "INVALID_ARGUMENT", field: "message.token",
                reason: "INVALID_ARGUMENT", outcome: .badToken),
            Row(
                status: 400, name: "INVALID_ARGUMENT", field: "message.token",
                reason: "INVALID_ARGUMENT", outcome: .badToken),
            Row(
                status: 400, code: "INVALID_ARGUMENT", field: "message.android.ttl",
                reason: "INVALID_ARGUMENT", outcome: .refused),
            Row(
                status: 400, code: "INVALID_ARGUMENT", reason: "INVALID_ARGUMENT",
                outcome: .refused),
            Row(status: 400, reason: "HTTP 400", outcome: .refused),
            Row(
                status: 401, code: "THIRD_PARTY_AUTH_ERROR", name: "UNAUTHENTICATED",
                reason: "THIRD_PARTY_AUTH_ERROR", outcome: .foreign),
            Row(
                status: 401, info: "ACCESS_TOKEN_EXPIRED", name: "UNAUTHENTICATED",
                reason: "ACCESS_TOKEN_EXPIRED", outcome: .renewToken),
            Row(
                status: 401, name: "UNAUTHENTICATED", reason: "UNAUTHENTICATED",
                outcome: .renewToken),
            Row(
                status: 403, info: "SERVICE_DISABLED", name: "PERMISSION_DENIED",
                reason: "SERVICE_DISABLED", outcome: .stopQueue),
            Row(
                status: 403, name: "PERMISSION_DENIED", reason: "PERMISSION_DENIED",
                outcome: .stopQueue),
            Row(status: 404, name: "NOT_FOUND", reason: "NOT_FOUND", outcome: .stopQueue),
            Row(status: 302, reason: "HTTP 302", outcome: .stopQueue),
            Row(status: 413, reason: "HTTP 413", outcome: .refused),
            Row(
                status: 429, code: "QUOTA_EXCEEDED", name: "RESOURCE_EXHAUSTED",
                reason: "QUOTA_EXCEEDED", outcome: .later(pause: .minutes(1))),
            Row(
                status: 429, info: "RATE_LIMIT_EXCEEDED", name: "RESOURCE_EXHAUSTED",
                reason: "RATE_LIMIT_EXCEEDED", outcome: .later(pause: .minutes(1))),
            Row(
                status: 429, code: "QUOTA_EXCEEDED", retryAfter: "7", reason: "QUOTA_EXCEEDED",
                outcome: .laterAsAsked(pause: .seconds(7))),
            Row(
                status: 503, code: "UNAVAILABLE", reason: "UNAVAILABLE",
                outcome: .later(pause: .seconds(1))),
            Row(
                status: 503, code: "UNAVAILABLE", retryAfter: "Sat, 21 Nov 2026 12:00:30 GMT",
                reason: "UNAVAILABLE", outcome: .laterAsAsked(pause: .seconds(30))),
            Row(
                status: 500, code: "INTERNAL", reason: "INTERNAL",
                outcome: .later(pause: .seconds(1))),
            Row(
                status: 500, code: "UNSPECIFIED_ERROR", reason: "UNSPECIFIED_ERROR",
                outcome: .later(pause: .seconds(1))),
            Row(status: 502, reason: "HTTP 502", outcome: .later(pause: .seconds(1))),
            // A pause is for what may be accepted later, and nothing else.
            Row(
                status: 404, code: "UNREGISTERED", retryAfter: "7", reason: "UNREGISTERED",
                outcome: .gone(since: FCMVerdictTests.now)),
        ]
    }

    @Test("each answer has its outcome", arguments: Row.all)
    func outcome(row: Row) throws {
        let verdict = FCMVerdict(
            try answer(row.status, row.retryAfter.map { [("retry-after", $0)] } ?? [], row.body),
            now: Self.now)
        #expect(
            verdict == FCMVerdict(status: row.status, reason: row.reason, outcome: row.outcome))
    }

    @Test func anAcceptedMessageHasItsName() throws {
        let name = "projects/p/messages/0:1"
        let verdict = FCMVerdict(
            try answer(200, [], JSON.text(["name": .string(name)])), now: Self.now)
        #expect(
            verdict == FCMVerdict(status: 200, reason: nil, outcome: .accepted(name: name)))
    }

    @Test("an encoded answer counts by its status, even if nobody can read it")
    func encoded() throws {
        let gzip = [("content-encoding", "gzip")]
        let accepted = FCMVerdict(try answer(200, gzip, [0x1f, 0x8b]), now: Self.now)
        #expect(accepted.outcome == .accepted(name: nil))
        let unreadable = FCMVerdict(
            status: 404, reason: "HTTP 404, unreadable", outcome: .stopQueue)
        let body = Row.all[0].body
        #expect(FCMVerdict(try answer(404, gzip, body), now: Self.now) == unreadable)
        for length in Self.gone.indices {
            let cut = try answer(404, gzip, Array(Self.gone[..<length]))
            #expect(FCMVerdict(cut, now: Self.now) == unreadable)
        }
        let brotli = [("content-encoding", "br")]
        #expect(FCMVerdict(try answer(404, brotli, body), now: Self.now) == unreadable)
    }

    @Test("an answer in gzip is read", arguments: ["gzip", "GZIP", "x-gzip"])
    func zipped(coding: String) throws {
        let gone = FCMVerdict(
            try answer(404, [("content-encoding", coding)], Self.gone), now: Self.now)
        #expect(
            gone
                == FCMVerdict(
                    status: 404, reason: "UNREGISTERED", outcome: .gone(since: Self.now)))
    }

    @Test("what is longer than any answer once decoded is not read")
    func bomb() {
        #expect(unzipped(Self.bomb, limit: 65_536) == nil)
        #expect(unzipped(Self.bomb, limit: 65_537) == [UInt8](repeating: 0, count: 65_537))
    }

    @Test("a body that is no JSON, such as a proxy's page, removes no device")
    func page() throws {
        for status in [400, 403, 404, 410] {
            let verdict = FCMVerdict(
                try answer(status, [], Array("<html>UNREGISTERED</html>".utf8)), now: Self.now)
            #expect(verdict.reason == "HTTP \(status)")
            #expect(verdict.outcome == (status == 400 || status == 410 ? .refused : .stopQueue))
        }
    }

    /// An answer with `UNREGISTERED`, by Python's `gzip`.
    fileprivate static let gone: [UInt8] = [
        0x1f, 0x8b, 0x08, 0x00, 0x00, 0x00, 0x00, 0x00, 0x02, 0x03, 0xab, 0x56, 0x4a, 0x2d, 0x2a,
        0xca,
        0x2f, 0x52, 0xb2, 0x52, 0xa8, 0x56, 0x4a, 0xce, 0x4f, 0x49, 0x05, 0x32, 0x4c, 0x0c, 0x4c,
        0x74,
        0x14, 0x94, 0x8a, 0x4b, 0x12, 0x4b, 0x4a, 0x8b, 0x81, 0x5c, 0x25, 0x3f, 0xff, 0x90, 0x78,
        0x37,
        0xff, 0x50, 0x3f, 0x17, 0x25, 0xa0, 0x70, 0x4a, 0x6a, 0x49, 0x62, 0x66, 0x0e, 0x48, 0x3c,
        0xba,
        0x5a, 0xc9, 0xa1, 0xa4, 0xb2, 0x00, 0xa4, 0x43, 0x09, 0x44, 0xeb, 0xa5, 0xe7, 0xe7, 0xa7,
        0xe7,
        0xa4, 0x26, 0x16, 0x64, 0x16, 0xeb, 0x25, 0xe7, 0xe7, 0xea, 0x43, 0xb8, 0x7a, 0x69, 0x99,
        0x45,
        0xa9, 0x49, 0x89, 0xc5, 0x40, 0x46, 0x72, 0xae, 0x5e, 0x99, 0xa1, 0x9e, 0x5b, 0x72, 0xae,
        0x2b,
        0xd8, 0x46, 0xa0, 0x61, 0x60, 0xab, 0x9d, 0x21, 0xb6, 0x2a, 0x85, 0xfa, 0x05, 0xb9, 0xba,
        0x7b,
        0x06, 0x87, 0xb8, 0x06, 0xb9, 0xba, 0x28, 0xd5, 0xc6, 0xd6, 0xd6, 0x02, 0x00, 0x88, 0x35,
        0xd8,
        0x0f, 0x9b, 0x00, 0x00, 0x00,
    ]

    /// 65,537 zeros, by the same.
    fileprivate static let bomb: [UInt8] = [
        0x1f, 0x8b, 0x08, 0x00, 0x00, 0x00, 0x00, 0x00, 0x02, 0x03, 0xed, 0xc1, 0x01, 0x01, 0x00,
        0x00,
        0x00, 0x82, 0x20, 0xff, 0xaf, 0xae, 0x21, 0x40, 0x01, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
        0x00,
        0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
        0x00,
        0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
        0x00,
        0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
        0x00,
        0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0xc0, 0x0d, 0xf3, 0x43, 0x0d, 0xe5, 0x01, 0x00,
        0x01,
        0x00,
    ]

    private func answer(
        _ status: Int, _ fields: [(String, String)], _ body: [UInt8]
    ) throws -> ClientEvent.Answer {
        var made = HeaderFields()
        for (name, value) in fields { made.append(name, value) }
        return ClientEvent.Answer(status: status, fields: made, body: body)
    }
}
