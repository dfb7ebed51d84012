import Drain
import Testing
import Turnstone

@testable import APNs
@testable import HTTP2

@Suite struct APNsVerdictTests {
    private static let now = Timestamp(seconds: 1_800_000_000)
    private static let dead = Timestamp(milliseconds: 1_799_999_999_123)

    @Test(
        "each answer of APNs has its outcome",
        arguments: [
            (400, "BadCollapseId", APNsOutcome.refused), (400, "BadDeviceToken", .quarantined),
            (400, "BadExpirationDate", .refused), (400, "BadMessageId", .refused),
            (400, "BadPriority", .refused), (400, "BadTopic", .stopQueue),
            (400, "DeviceTokenNotForTopic", .refused), (400, "DuplicateHeaders", .refused),
            (400, "IdleTimeout", .later(pause: .seconds(1))), (400, "InvalidPushType", .refused),
            (400, "MissingDeviceToken", .refused), (400, "MissingTopic", .stopQueue),
            (400, "PayloadEmpty", .refused), (400, "TopicDisallowed", .stopQueue),
            (403, "BadCertificate", .stopQueue), (403, "BadCertificateEnvironment", .stopQueue),
            (403, "BadEnvironmentKeyIdInToken", .stopQueue),
            (403, "ExpiredProviderToken", .renewToken),
            (403, "Forbidden", .stopQueue), (403, "InvalidProviderToken", .stopQueue),
            (403, "MissingProviderToken", .stopQueue), (403, "UnrelatedKeyIdInToken", .stopQueue),
            (404, "BadPath", .refused), (405, "MethodNotAllowed", .refused),
            (410, "ExpiredToken", .gone(since: dead)), (410, "Unregistered", .gone(since: dead)),
            (413, "PayloadTooLarge", .refused),
            (429, "TooManyProviderTokenUpdates", .later(pause: .minutes(20))),
            (429, "TooManyRequests", .later(pause: .seconds(10))),
            (500, "InternalServerError", .later(pause: .minutes(15))),
            (503, "ServiceUnavailable", .later(pause: .minutes(15))),
            (503, "Shutdown", .later(pause: .seconds(1))),
            (400, "BadChannelId", .refused), (400, "MissingChannelId", .refused),
            (410, "ChannelNotRegistered", .refused), (403, "FeatureNotEnabled", .refused),
            (403, "BroadcastFeatureNotEnabled", .refused), (403, "TopicMismatch", .refused),
            // Reasons that Apple has not documented: the status decides.
            (400, "New", .refused), (401, "New", .stopQueue), (403, "New", .stopQueue),
            (404, "New", .refused),
            (410, "New", .gone(since: dead)), (429, "New", .later(pause: .seconds(10))),
            (502, "New", .later(pause: .minutes(15))), (302, "New", .later(pause: .minutes(15))),
        ])
    func reason(status: Int, reason: String, outcome: APNsOutcome) {
        let body = #"{"reason":"\#(reason)","timestamp":\#(Self.dead.milliseconds)}"#
        let verdict = APNsVerdict(answer(status, body), now: Self.now)
        #expect(verdict == APNsVerdict(status: status, reason: reason, outcome: outcome))
    }

    @Test(
        "the status decides about an answer in an unknown form",
        arguments: [
            (400, "", APNsOutcome.refused), (410, "gone", .gone(since: now)),
            (410, #"{"reason":"Unregistered"}"#, .gone(since: now)),
            (503, "<html>", .later(pause: .minutes(15))), (403, "[]", .stopQueue),
            (400, #"{"reason":7}"#, .refused),
        ])
    func form(status: Int, body: String, outcome: APNsOutcome) {
        let verdict = APNsVerdict(answer(status, body), now: Self.now)
        #expect(verdict.outcome == outcome)
        #expect(verdict.reason != nil)
    }

    @Test func anAcceptedPushHasItsUniqueID() {
        let verdict = APNsVerdict(answer(200, "", ["apns-unique-id": "u"]), now: Self.now)
        #expect(verdict == .init(status: 200, reason: nil, outcome: .accepted(uniqueID: "u")))
        #expect(
            APNsVerdict(answer(200, ""), now: Self.now).outcome == .accepted(uniqueID: nil))
    }

    @Test(
        arguments: [
            ("7", .laterAsAsked(pause: .seconds(7))), ("0", .later(pause: .minutes(15))),
            ("-1", .later(pause: .minutes(15))), ("soon", .later(pause: .minutes(15))),
            ("99999999999", .later(pause: .minutes(15))),
        ] as [(String, APNsOutcome)])
    func retryAfterSetsThePause(field: String, outcome: APNsOutcome) {
        let answer = answer(503, #"{"reason":"ServiceUnavailable"}"#, ["retry-after": field])
        #expect(APNsVerdict(answer, now: Self.now).outcome == outcome)
    }

    @Test(arguments: [
        (1, 0, 10), (2, 0, 20), (3, 0, 40), (1, 255, 12), (20, 0, 21_600), (1000, 255, 27_000),
        (0, 0, 10),
    ])
    func pausesDouble(attempt: Int, random: Int, seconds: Int64) {
        let pause = backOff(.seconds(10), attempt: attempt, random: UInt8(random))
        #expect(pause.milliseconds / 1000 == seconds)
    }

    private func answer(
        _ status: Int, _ body: String, _ fields: [String: String] = [:]
    ) -> ClientEvent.Answer {
        var packed = HeaderFields()
        for (name, value) in fields { packed.append(name, value) }
        return ClientEvent.Answer(status: status, fields: packed, body: Array(body.utf8))
    }
}
