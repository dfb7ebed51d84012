import HTTP2
import JSON
import TestSupport
import Testing
import Turnstone

@Suite struct FCMTests {
    @Test("without --services there is no FCM, and no variable that leads to one")
    func absent() throws {
        let simulator = try Simulator()
        #expect(simulator.addresses["fcm"] == nil)
        #expect(simulator.environment.keys.allSatisfy { !$0.hasPrefix("FCM_") })
        #expect(throws: TestFailure.self) { try simulator.perform(["do": "fcm-fault"]) }
    }

    @Test func theVariablesLeadThere() throws {
        let stage = try FCMStage()
        let environment = stage.simulator.environment
        #expect(environment["FCM_BASE_URL"] == stage.simulator.addresses["fcm"]?.string)
        #expect(
            environment["FCM_SERVICE_ACCOUNT"]
                == stage.simulator.addresses["service_account"]?.string)
        #expect(environment["FCM_CA_FILE"] == environment["APNS_CA_FILE"])
    }

    @Test("an assertion is checked claim by claim")
    func assertions() throws {
        let stage = try FCMStage()
        typealias Change = (inout FCMStage.Assertion) -> Void
        let now = Timestamp.systemNow.seconds
        let wrong: [(String, Change)] = [
            ("invalid_grant", { $0.header["alg"] = "HS256" }),
            ("invalid_grant", { $0.header["kid"] = "other" }),
            ("invalid_grant", { $0.header["kid"] = nil }),
            ("invalid_grant", { $0.claims["iss"] = "someone@else" }),
            (
                "invalid_scope",
                { $0.claims["scope"] = "https://www.googleapis.com/auth/cloud-platform" }
            ),
            (
                "invalid_scope",
                {
                    $0.claims["scope"] = .string(
                        ($0.claims["scope"]?.string ?? "") + " https://example.org/more")
                }
            ),
            ("invalid_grant", { $0.claims["aud"] = "https://oauth2.googleapis.com/token" }),
            ("invalid_grant", { $0.claims["iat"] = "now" }),
            ("invalid_grant", { $0.claims["iat"] = .integer(now + 600) }),
            ("invalid_grant", { $0.claims["exp"] = .integer(now + 7200) }),
            ("invalid_grant", { $0.claims["exp"] = .integer(now - 1) }),
            ("invalid_grant", { $0.claims["sub"] = "someone" }),
            ("invalid_grant", { $0.signature = { $0.reversed() } }),
        ]
        for (error, change) in wrong {
            var assertion = stage.assertion
            change(&assertion)
            let answer = try stage.fetch(assertion)
            #expect(answer.status == 400)
            #expect(answer.json?["error"] == .string(error), "\(assertion)")
        }
        let other = try stage.fetch(stage.assertion, grant: "password")
        #expect(other.json?["error"] == "unsupported_grant_type")
        let good = try stage.fetch(stage.assertion)
        #expect(good.status == 200)
        #expect(good.json?["token_type"] == "Bearer" && good.json?["expires_in"] == 3599)
        let report = try stage.report()
        #expect(report["access_tokens"] == 1)
        #expect(report["oauth_requests"] == .integer(Int64(wrong.count) + 2))
    }

    @Test("the scopes and audience of Google's libraries are accepted on demand")
    func foreign() throws {
        let stage = try FCMStage()
        try stage.simulator.perform(["do": "oauth", "foreign": true])
        var assertion = stage.assertion
        assertion.claims["scope"] = "https://www.googleapis.com/auth/cloud-platform a b"
        assertion.claims["aud"] = "https://oauth2.googleapis.com/token"
        #expect(try stage.fetch(assertion).status == 200)
    }

    @Test("a request is checked before its message")
    func requests() throws {
        let stage = try FCMStage()
        let token = try stage.token()
        let body = #"{"message":{"token":"t"}}"#
        func answer(_ changes: [String: String?]) throws -> ClientEvent.Answer {
            try stage.client.answer(stage.fields(token, changes), body: body)
        }
        #expect(try answer([:]).status == 200)
        let none = try answer(["authorization": nil])
        #expect(none.status == 401 && none.info == "CREDENTIALS_MISSING" && none.fcmCode == nil)
        let unknown = try answer(["authorization": "Bearer other"])
        #expect(unknown.status == 401 && unknown.info == "ACCESS_TOKEN_EXPIRED")
        let project = try answer([":path": "/v1/projects/another/messages:send"])
        #expect(project.status == 403 && project.fcmCode == nil)
        #expect(try answer([":path": "/v1/messages:send"]).status == 404)
        #expect(try answer(["content-type": "text/plain"]).status == 400)
        try stage.simulator.perform(["do": "oauth", "revoke": true])
        #expect(try answer([:]).info == "ACCESS_TOKEN_EXPIRED")
    }

    @Test func anAccessTokenExpires() throws {
        let stage = try FCMStage()
        try stage.simulator.perform(["do": "oauth", "life": 60])
        let token = try stage.token()
        #expect(try stage.send(["token": "t"], token).status == 200)
        try stage.simulator.perform(["do": "clock", "advance_ms": 60_000])
        #expect(try stage.send(["token": "t"], token).info == "ACCESS_TOKEN_EXPIRED")
    }

    @Test("every member of a message is checked, and the field at fault is named")
    func messages() throws {
        let stage = try FCMStage()
        let token = try stage.token()
        func android(_ members: JSONObject) -> JSONObject { ["android": .object(members)] }
        func shown(_ members: JSONObject) -> JSONObject {
            android(["notification": .object(members)])
        }
        let wrong: [(String, JSONObject)] = [
            ("message.tokens", ["tokens": "t"]), ("message.data", ["data": ["a": 1]]),
            ("message.data.from", ["data": ["from": "x"]]),
            ("message.data.google.c", ["data": ["google.c": "x"]]),
            ("message.notification.subtitle", ["notification": ["subtitle": "x"]]),
            ("message.notification.image", ["notification": ["image": "a.png"]]),
            ("message.notification", ["notification": "text"]),
            ("message.android.ttl", android(["ttl": 5])),
            ("message.android.ttl", android(["ttl": "2419201s"])),
            ("message.android.ttl", android(["ttl": "-1s"])),
            ("message.android.priority", android(["priority": "URGENT"])),
            ("message.android.time_to_live", android(["time_to_live": "5s"])),
            ("message.android.notification.color", shown(["color": "red"])),
            ("message.android.notification.notification_count", shown(["notification_count": -1])),
            ("message.android.notification.body_loc_args", shown(["body_loc_args": ["a"]])),
            (
                "message.android.notification.title_loc_args",
                shown(["title_loc_key": "k", "title_loc_args": [1]])
            ),
            (
                "message.android.notification.notification_priority",
                shown(["notification_priority": "HIGH"])
            ),
            ("message.android.notification.visibility", shown(["visibility": "ALL"])),
            (
                "message.fcm_options.analytics_label",
                ["fcm_options": ["analytics_label": "two words"]]
            ),
            ("message", ["data": ["a": .string(String(repeating: "x", count: 4090))]]),
        ]
        for (field, members) in wrong {
            var message = members
            message["token"] = "t"
            let answer = try stage.send(.object(message), token)
            #expect(answer.status == 400 && answer.fcmCode == "INVALID_ARGUMENT", "\(members)")
            #expect(answer.badField == field)
        }
        #expect(try stage.send(["topic": "x"], token).status == 400)
        #expect(try stage.send(["token": ""], token).badField == "message.token")
        let whole: JSONValue = [
            "token": "t", "data": ["a": "1"],
            "notification": ["title": "T", "body": "B", "image": "https://example.org/a.png"],
            "fcm_options": ["analytics_label": "a.b"],
            "android": [
                "collapse_key": "c", "priority": "HIGH", "ttl": "3.5s",
                "notification": [
                    "channel_id": "x", "tag": "t", "color": "#00ff7F", "sound": "default",
                    "click_action": "A", "title_loc_key": "k", "title_loc_args": ["a"],
                    "notification_count": 0, "visibility": "PRIVATE",
                    "notification_priority": "PRIORITY_MAX",
                ],
            ],
        ]
        #expect(try stage.send(whole, token).status == 200)
        let report = try stage.report()
        #expect(report["accepted"] == 1)
        let last = report["pushes"]?.array?.last?.object
        #expect(last?["service"] == "fcm" && last?["token"] == "t" && last?["status"] == 200)
        #expect(last?["payload"] == whole)
        #expect(last?["headers"]?.object?["authorization"] == nil)
    }

    @Test("a device's state is answered in FCM's words")
    func devices() throws {
        let stage = try FCMStage()
        let token = try stage.token()
        for state in ["gone", "other-project", "bad"] {
            try stage.simulator.perform(
                ["do": "fcm-token", "token": .string(state), "is": .string(state)])
        }
        let gone = try stage.send(["token": "gone"], token)
        #expect(gone.status == 404 && gone.fcmCode == "UNREGISTERED")
        let other = try stage.send(["token": "other-project"], token)
        #expect(other.status == 403 && other.fcmCode == "SENDER_ID_MISMATCH")
        let bad = try stage.send(["token": "bad"], token)
        #expect(bad.status == 400 && bad.badField == "message.token")
        #expect(try stage.send(["token": "good"], token).status == 200)
        try stage.simulator.perform(["do": "fcm-token", "token": "gone"])
        #expect(try stage.send(["token": "gone"], token).status == 200)
    }

    @Test("a requested fault comes as often as requested, and only its answer may be lost")
    func faults() throws {
        let stage = try FCMStage()
        let token = try stage.token()
        func send() throws -> ClientEvent {
            try stage.client.ask(
                stage.fields(token),
                body: #"{"message":{"token":"t","android":{"collapse_key":"c"}}}"#)
        }
        try stage.simulator.perform(
            ["do": "fcm-fault", "status": 429, "count": 1, "retry_after": 7])
        guard case .answered(_, let quota) = try send() else {
            Issue.record("no answer")
            return
        }
        #expect(quota.status == 429 && quota.fcmCode == "QUOTA_EXCEEDED")
        #expect(quota.fields["retry-after"] == "7")
        try stage.simulator.perform(
            ["do": "fcm-fault", "status": 404, "reason": "none", "count": 1])
        guard case .answered(_, let plain) = try send() else {
            Issue.record("no answer")
            return
        }
        #expect(plain.status == 404 && plain.fcmCode == nil && plain.info == nil)
        try stage.simulator.perform(
            ["do": "fcm-fault", "kind": "reset", "code": 2, "accepted": true, "count": 1])
        #expect(try send().status == -1)
        #expect(try send().status == 200)
        let report = try stage.report()
        #expect(report["accepted"] == 2 && report["distinct_ids"] == 1)
        #expect(report["repeated_ids"] == 1)
    }

    @Test("faults of the connection and the token server can be aimed at FCM")
    func connectionFaults() throws {
        let stage = try FCMStage()
        let token = try stage.token()
        try stage.simulator.perform(["do": "oauth-fault", "status": 503, "count": 1])
        #expect(try stage.fetch(stage.assertion).status == 503)
        #expect(try stage.fetch(stage.assertion).status == 200)
        try stage.simulator.perform(["do": "goaway", "service": "fcm", "after": 1])
        let body = #"{"message":{"token":"t"}}"#
        let events = try stage.client.ask([stage.fields(token), stage.fields(token)], body: body)
        #expect(events.map(\.status) == [200, 0])
        let apns = try Client(stage.simulator, .apns)
        try stage.simulator.perform(["do": "drop", "service": "fcm"])
        #expect(apns.state == .open)
        let next = try Client(stage.simulator, .fcm)
        #expect(try next.answer(stage.fields(token), body: body).status == 200)
        try stage.simulator.perform(["do": "tls-fault", "service": "fcm", "kind": "close"])
        #expect(throws: TestFailure.self) { try Client(stage.simulator, .fcm) }
        #expect(next.maximumStreams == 100)
    }
}
