import JSON
import TestSupport
import Testing
import Turnstone

/// The calls of an app's own helpers to OneSignal's route, by the bodies that those helpers make: 200, and
/// the push has the members that the app's click handler reads.
@Suite struct HelperCallTests {
    /// The texts, the data and the users of one call.
    struct Call: CustomTestStringConvertible, Sendable {
        let title: String
        let body: String
        let data: [String: String]
        let users: [String]

        var testDescription: String { data["type"] ?? title }
    }

    static let calls = [
        Call(
            title: "New Task Assignment", body: "You've been assigned to Framing on Beach House",
            data: [
                "type": "taskAssignment", "taskId": "1700x5", "projectId": "1699x1",
                "screen": "taskDetails",
            ], users: ["ann"]),
        Call(
            title: "Schedule Update", body: "Framing on Beach House: Schedule has been updated",
            data: [
                "type": "scheduleChange", "taskId": "1700x5", "projectId": "1699x1",
                "screen": "taskDetails",
            ], users: ["ann", "bob"]),
        Call(
            title: "Project Completed", body: "Beach House has been marked as completed",
            data: [
                "type": "projectCompletion", "projectId": "1699x1", "screen": "projectDetails",
            ], users: ["ann", "bob"]),
    ]

    @Test("a helper's call reaches the users' phones with all that the app reads", arguments: calls)
    func reached(call: Call) throws {
        let installation = try Endpoint.installation()
        let tokens = ["ann": "a1b2", "bob": "c3d4"]
        for (user, folder) in [("ann", "49"), ("bob", "81")] {
            try installation.state.write(
                #"{"version":1,"revision":1,"devices":[{"token":"\#(tokens[user]!)","registered_at":1795262340000}]}"#,
                to: "users/\(folder)/\(user).json")
        }
        func object(_ texts: [String: String]) -> JSONValue {
            var members = JSONObject()
            for (name, text) in texts { members[name] = .string(text) }
            return .object(members)
        }
        let request: JSONValue = [
            "method": "POST", "path": "/api/v1/notifications",
            "headers": [
                "Content-Type": "application/json",
                "Authorization": .string("Basic \(Endpoint.serverKey)"),
            ],
            "body": [
                "app_id": .string(Endpoint.appID), "headings": ["en": .string(call.title)],
                "contents": ["en": .string(call.body)],
                "include_external_user_ids": JSONValue(texts: call.users),
                "data": object(call.data),
            ],
        ]
        let ended = try Programs.run(
            "onesignal-notifications", stdin: JSON.line(request),
            environment: installation.environment)
        let answer = try Answer(event: ended.stdout)
        #expect(answer.status == 200, "\(answer.body)")
        #expect(answer.json?.object?["id"]?.string?.isEmpty == false)
        #expect(answer.json?.object?["errors"] == nil)
        var environment = installation.environment
        environment["DELIVER_LINGER_SECONDS"] = "0"
        _ = try Programs.run("deliver", stdin: "", environment: environment)

        let pushes = try installation.state.files().filter { $0.key.hasPrefix("outgoing/") }
            .compactMap { try JSON.parse($0.value).object }
        #expect(
            Set(pushes.compactMap { $0["device"]?.string }) == Set(call.users.map { tokens[$0]! }))
        for push in pushes {
            let payload = push["payload"]?.object
            #expect(
                payload?["aps"]?.object?["alert"]
                    == ["title": .string(call.title), "body": .string(call.body)])
            for (name, text) in call.data { #expect(payload?[name] == .string(text)) }
        }
    }
}
