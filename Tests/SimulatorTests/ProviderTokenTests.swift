import JSON
import TestSupport
import Testing
import Turnstone

@Suite struct ProviderTokenTests {
    /// A fault in the provider token.
    struct Row: CustomTestStringConvertible {
        let testDescription: String
        let reason: String?
        let change: @Sendable (inout Bearer) -> Void

        init(
            _ testDescription: String, _ reason: String?,
            _ change: @escaping @Sendable (inout Bearer) -> Void
        ) {
            self.testDescription = testDescription
            self.reason = reason
            self.change = change
        }
    }

    private static func member(_ name: String, of value: JSONValue) -> JSONValue {
        value.object?[name] ?? .null
    }

    @Test(
        "a wrong provider token gets its reason",
        arguments: [
            Row("good", nil) { _ in },
            Row("another scheme", "InvalidProviderToken") { $0.scheme = "Bearer " },
            Row("another algorithm", "InvalidProviderToken") {
                $0.header = ["alg": "RS256", "kid": member("kid", of: $0.header)]
            },
            Row("no alg", "InvalidProviderToken") {
                $0.header = ["kid": member("kid", of: $0.header)]
            },
            Row("no kid", "InvalidProviderToken") { $0.header = ["alg": "ES256"] },
            Row("an unknown key", "InvalidProviderToken") {
                $0.header = ["alg": "ES256", "kid": "NOTAKEYATALL"]
            },
            Row("another team", "InvalidProviderToken") {
                $0.claims = ["iss": "OTHERTEAM1", "iat": member("iat", of: $0.claims)]
            },
            Row("iat as a text", "InvalidProviderToken") {
                $0.claims = ["iss": member("iss", of: $0.claims), "iat": "1763700000"]
            },
            Row("iat in milliseconds", "InvalidProviderToken") {
                $0.claims = ["iss": member("iss", of: $0.claims), "iat": 1_763_700_000_000]
            },
            Row("iat long ago", "ExpiredProviderToken") {
                $0.claims = ["iss": member("iss", of: $0.claims), "iat": 1_500_000_000]
            },
            Row("a signature of 63 bytes", "InvalidProviderToken") {
                $0.signature = { Array($0.dropLast()) }
            },
            Row("another signature", "InvalidProviderToken") {
                $0.signature = { [$0[0] ^ 1] + $0.dropFirst() }
            },
        ])
    func fault(row: Row) throws {
        let simulator = try Simulator()
        var bearer = try Bearer(simulator)
        row.change(&bearer)
        let push = try Push(simulator, bearer: try bearer.text())
        let answer = try Client(simulator, .apns).answer(push.fields, body: push.body)
        #expect(answer.reason == row.reason)
        #expect(answer.status == (row.reason == nil ? 200 : 403))
    }

    @Test("a second token of a key within 20 minutes is refused, the first goes on to hold")
    func tooManyUpdates() throws {
        let simulator = try Simulator()
        let client = try Client(simulator, .apns)
        let first = try Push(simulator)
        let second = try Push(simulator, bearer: Bearer(simulator, age: 60).text())
        #expect(try client.answer(first.fields, body: first.body).status == 200)
        let refused = try client.answer(second.fields, body: second.body)
        #expect(refused.status == 429)
        #expect(refused.reason == "TooManyProviderTokenUpdates")
        #expect(try simulator.apns()["provider_tokens"] == 2)
        #expect(try client.answer(first.fields, body: first.body).status == 200)
        try simulator.perform(["do": "clock", "advance_ms": 1_200_000])
        #expect(try client.answer(second.fields, body: second.body).status == 200)
        #expect(try simulator.apns()["provider_tokens"] == 2)
    }

    @Test("a token that came too late is not an update, and its successor counts")
    func lateFirst() throws {
        let simulator = try Simulator()
        let client = try Client(simulator, .apns)
        let late = try Push(simulator, bearer: Bearer(simulator, age: 4000).text())
        #expect(try client.answer(late.fields, body: late.body).reason == "ExpiredProviderToken")
        let next = try Push(simulator)
        #expect(try client.answer(next.fields, body: next.body).status == 200)
    }

    @Test("a token expires after an hour")
    func expires() throws {
        let simulator = try Simulator()
        let client = try Client(simulator, .apns)
        let push = try Push(simulator)
        #expect(try client.answer(push.fields, body: push.body).status == 200)
        try simulator.perform(["do": "clock", "advance_ms": 3_700_000])
        #expect(try client.answer(push.fields, body: push.body).reason == "ExpiredProviderToken")
    }

    @Test("a connection belongs to the key that it began with")
    func oneKey() throws {
        let simulator = try Simulator()
        let made = try simulator.perform(["do": "key", "key_id": "OTHERKEY01"])
        var bearer = try Bearer(simulator, key: made["apns_key"]?.string)
        bearer.header = ["alg": "ES256", "kid": "OTHERKEY01"]
        let client = try Client(simulator, .apns)
        let first = try Push(simulator)
        let second = try Push(simulator, bearer: try bearer.text())
        #expect(try client.answer(first.fields, body: first.body).status == 200)
        let refused = try client.answer(second.fields, body: second.body)
        #expect(refused.reason == "UnrelatedKeyIdInToken")
        let other = try Client(simulator, .apns)
        #expect(try other.answer(second.fields, body: second.body).status == 200)
    }
}
