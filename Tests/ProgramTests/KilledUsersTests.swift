import Foundation
import JSON
import TestSupport
import Testing
import Turnstone

/// Changes of OneSignal's routes to several documents, killed at each call that changes a file: nothing of a
/// user is lost or doubled, and the request that is repeated finishes the work.
@Suite(.enabled(if: SystemCalls.isPossible)) struct KilledUsersTests {
    /// A user without an external id.
    private static let anonymous = "0b7f8c1e-2222-8aaa-9bbb-000000000009"
    private static let token = String(repeating: "80ab", count: 16)
    private static let other = String(repeating: "90cd", count: 16)
    /// The id of the device with the first token, which another token has replaced.
    private static let id = "112233445566778899aabbcc"
    private static let app = "/apps/\(Endpoint.appID)"

    /// A user with a device that is switched off and one that is not, and with two aliases.
    private func installation(of user: String, in file: String) throws -> Installation {
        let installation = try Endpoint.installation()
        let state = installation.state
        try state.write(
            """
            {"version":1,"revision":1,"devices":[\
            {"token":"\(Self.token)","id":"\(Self.id)","enabled":false,"model":"m","registered_at":1795262340000},\
            {"token":"\(Self.other)","registered_at":1795262340000}],"ledger":[],"notices":0,\
            "profile":{"aliases":{"onesignal_id":"\(Self.anonymous)","crm":"17"},"tags":{"role":"admin"},"revision":1}}
            """, to: file)
        for index in [
            "tokens/95/9544767b1c5c63bf38bf01cff6e94e96d359d7a483ea3621a87f72e80e5e509a.json",
            "tokens/90/908c38ffa30a2b486ae8f8e1804f2fd3b16251b8e0b4fbe4b4169847ec1b3160.json",
            "aliases/5d/5d439e8b9d67c6a77f7b82a9ac6984a1861ddd03518871e4bba9bd6176d67972.json",
            "aliases/a0/a0ba21b219c90a0d77bb8f6ff5f8203c29a2196b5555b4c7b214022d42b884b2.json",
        ] {
            try state.write(#"{"version":1,"revision":1,"users":["\#(user)"]}"#, to: index)
        }
        #expect(try count(in: installation) == 1)
        return installation
    }

    private func event(_ method: String, _ path: String, _ body: String) -> String {
        #"{"method": "\#(method)", "path": "\#(path)", "headers": {"Authorization": "Key \#(Endpoint.serverKey)"}, "body": \#(body)}"#
    }

    private func ask(
        _ program: String, _ method: String, _ path: String, _ body: String = "null",
        in installation: Installation
    ) throws -> Answer {
        let ended = try Programs.run(
            program, stdin: event(method, path, body), environment: installation.environment)
        return try Answer(event: ended.stdout)
    }

    /// How many users of the segment have a device that messages go to.
    private func count(in installation: Installation) throws -> Int64? {
        try ask(
            "notify", "POST", "/api/notify/count",
            #"{"filters": [{"field": "tag", "key": "role", "relation": "=", "value": "admin"}]}"#,
            in: installation
        ).json?.object?["users"]?.integer
    }

    /// Kills the program at each such call, lets `check` look at the result, repeats the request, and lets
    /// `check` look again.
    private func killing(
        _ program: String, _ method: String, _ path: String, _ body: String = "null",
        at calls: [String], then expected: [Int] = [200], in make: () throws -> Installation,
        check: (Installation, _ isOver: Bool) throws -> Void
    ) throws {
        var kills = 0
        for call in calls {
            for number in 1...400 {
                let installation = try make()
                let ended = try Programs.start(
                    at: SystemCalls.tracer,
                    [
                        "-qq", "-o", "/dev/null", "-e", "signal=none", "-e",
                        "inject=\(call):signal=SIGKILL:when=\(number)", "--",
                        Programs.path(program),
                    ], input: Array(event(method, path, body).utf8),
                    entries: installation.environment.map { "\($0.key)=\($0.value)" }
                ).end()
                guard !ended.stdout.contains(#""statusCode":2"#) else { break }
                kills += 1
                try check(installation, false)
                let again = try ask(program, method, path, body, in: installation)
                #expect(expected.contains(again.status), "\(call) \(number): \(again.body)")
                try check(installation, true)
            }
        }
        #expect(kills > 10, "it was killed \(kills) times")
    }

    /// The documents of users who have a token, by the paths of their files.
    private func holders(of token: String, in installation: Installation) throws -> [String] {
        installation.state.files().filter {
            $0.key.hasPrefix("users/") && $0.key.hasSuffix(".json")
                && String(decoding: $0.value, as: UTF8.self).contains(token)
        }.map { $0.key }
    }

    @Test(
        "naming a user: the devices, tags and aliases are one user's, under the old id or the new one"
    )
    func naming() throws {
        let old = "users/0b/\(Self.anonymous).json"
        try killing(
            "onesignal-users", "PATCH",
            "\(Self.app)/users/by/onesignal_id/\(Self.anonymous)/identity",
            #"{"identity": {"external_id": "cid", "mail": "m-1"}}"#,
            at: ["rename", "unlink", "pwrite64", "ftruncate"]
        ) {
            try installation(of: Self.anonymous, in: old)
        } check: { installation, isOver in
            for alias in ["onesignal_id/\(Self.anonymous)", "crm/17"] {
                let answer = try ask(
                    "onesignal-users", "GET", "\(Self.app)/users/by/\(alias)", in: installation)
                let user = answer.json?.object
                #expect(answer.status == 200, "\(alias): \(answer.body)")
                #expect(user?["subscriptions"]?.array?.count == 2, "\(answer.body)")
                #expect(user?["properties"]?.object?["tags"] == ["role": "admin"])
                if isOver { #expect(user?["identity"]?.object?["external_id"] == "cid") }
            }
            // The index may name both ids until the next change.
            let counted = try #require(try count(in: installation))
            #expect(counted == 1 || counted == 2 && !isOver)
            for token in [Self.token, Self.other] {
                let holders = try holders(of: token, in: installation)
                #expect(holders == [isOver || holders.first != old ? "users/54/cid.json" : old])
            }
            if isOver { #expect(installation.state.read(old) == nil) }
        }
    }

    @Test("a transfer: the device is one user's, with its id, and stays switched off")
    func transfer() throws {
        try killing(
            "onesignal-subscriptions", "PATCH", "\(Self.app)/subscriptions/\(Self.id)/owner",
            #"{"identity": {"external_id": "bob"}}"#,
            at: ["rename", "unlink", "pwrite64", "ftruncate"]
        ) {
            try installation(of: "ann", in: "users/49/ann.json")
        } check: { installation, isOver in
            let answer = try ask(
                "onesignal-subscriptions", "GET",
                "\(Self.app)/subscriptions/\(Self.id)/user/identity", in: installation)
            let owner = answer.json?.object?["identity"]?.object?["external_id"]
            #expect(answer.status == 200, "\(answer.body)")
            #expect(owner == "bob" || (owner == "ann" && !isOver), "\(answer.body)")
            let holders = try holders(of: Self.token, in: installation)
            #expect(holders == [owner == "bob" ? "users/81/bob.json" : "users/49/ann.json"])
            let text = holders.first.flatMap { installation.state.read($0) } ?? []
            let user = try JSON.parse(text).object
            let device = user?["devices"]?.array?.first {
                $0.object?["token"]?.string == Self.token
            }
            #expect(device?.object?["id"] == .string(Self.id))
            #expect(device?.object?["enabled"] == false && device?.object?["model"] == "m")
        }
    }

    @Test(
        "an erasure: nobody gets an alias that the user still has, and the repeated request ends it"
    )
    func erasure() throws {
        try killing(
            "onesignal-users", "DELETE", "\(Self.app)/users/by/crm/17", at: ["rename", "unlink"],
            then: [200, 404]
        ) {
            try installation(of: "ann", in: "users/49/ann.json")
        } check: { installation, isOver in
            if isOver {
                let bob = try ask(
                    "onesignal-users", "GET", "\(Self.app)/users/by/external_id/bob",
                    in: installation)
                guard bob.status == 404 else { return }
                for (name, bytes) in installation.state.files() {
                    let text = String(decoding: bytes, as: UTF8.self)
                    #expect(!name.contains("ann.json"), "\(name)")
                    #expect(
                        !text.contains(#""ann""#) || name.hasSuffix(".limit"), "\(name): \(text)")
                }
                return
            }
            let claim = try ask(
                "users", "PATCH", "/api/users/bob", #"{"aliases": {"crm": "17"}}"#, in: installation
            )
            if claim.status == 200 {
                #expect(installation.state.read("users/49/ann.json") == nil, "\(claim.body)")
                // Otherwise the repeated request would be about bob.
                let given = try ask(
                    "users", "PATCH", "/api/users/bob", #"{"aliases": {"crm": null}}"#,
                    in: installation)
                #expect(given.status == 200)
            } else {
                #expect(claim.status == 409, "\(claim.body)")
            }
        }
    }

    @Test("an erasure that something cannot be read for is answered 503 each time, and then ends")
    func unreadable() throws {
        let installation = try installation(of: "ann", in: "users/49/ann.json")
        let place = "keys/2d/\(String(repeating: "2d", count: 32)).json"
        try installation.state.write("", to: "\(place)/x")
        let path = "\(Self.app)/users/by/crm/17"
        for _ in 0..<2 {
            let answer = try ask("onesignal-users", "DELETE", path, in: installation)
            #expect(answer.status == 503, "\(answer.body)")
        }
        #expect(try ask("onesignal-users", "GET", path, in: installation).status == 404)
        try installation.state.remove(place)
        #expect(try ask("onesignal-users", "DELETE", path, in: installation).status == 200)
        #expect(try ask("onesignal-users", "DELETE", path, in: installation).status == 404)
    }

    @Test("an empty name takes a player's user away, and the player stays what it was")
    func unlinked() throws {
        let installation = try installation(of: "ann", in: "users/49/ann.json")
        let body = #"{"app_id": "\#(Endpoint.appID)", "external_user_id": ""}"#
        for _ in 0..<2 {
            let path = "/players/\(Self.id)"
            let answer = try ask("onesignal-players", "PUT", path, body, in: installation)
            #expect(answer.status == 200, "\(answer.body)")
            #expect(answer.json?.object?["id"] == .string(Self.id))
            let identity = try ask(
                "onesignal-subscriptions", "GET",
                "\(Self.app)/subscriptions/\(Self.id)/user/identity", in: installation
            ).json?.object?["identity"]?.object
            #expect(identity?["onesignal_id"] != nil && identity?["external_id"] == nil)
        }
        let holders = try holders(of: Self.token, in: installation)
        #expect(holders.count == 1 && holders != ["users/49/ann.json"])
        #expect(try self.holders(of: Self.other, in: installation) == ["users/49/ann.json"])
    }

    @Test("a message that waits while its user gets a name arrives")
    func namedWhileWaiting() throws {
        let installation = try installation(
            of: Self.anonymous, in: "users/0b/\(Self.anonymous).json")
        let sent = try ask(
            "onesignal-notifications", "POST", "/notifications",
            #"{"app_id": "\#(Endpoint.appID)", "include_aliases": {"crm": ["17"]}, "target_channel": "push", "contents": {"en": "x"}}"#,
            in: installation)
        #expect(sent.status == 200, "\(sent.body)")
        let named = try ask(
            "onesignal-users", "PATCH", "\(Self.app)/users/by/crm/17/identity",
            #"{"identity": {"external_id": "cid"}}"#, in: installation)
        #expect(named.status == 200, "\(named.body)")
        var environment = installation.environment
        environment["DELIVER_LINGER_SECONDS"] = "0"
        _ = try Programs.run("deliver", environment: environment)
        let pushes = installation.state.files().filter { $0.key.hasPrefix("outgoing/") }
        #expect(pushes.count == 1)
    }

    @Test("a user who got a name is erased under the former id too")
    func erasedUnderBothIDs() throws {
        let installation = try installation(
            of: Self.anonymous, in: "users/0b/\(Self.anonymous).json")
        func send() throws {
            let sent = try ask(
                "onesignal-notifications", "POST", "/notifications",
                #"{"app_id": "\#(Endpoint.appID)", "include_aliases": {"crm": ["17"]}, "target_channel": "push", "contents": {"en": "x"}}"#,
                in: installation)
            #expect(sent.status == 200, "\(sent.body)")
        }
        var environment = installation.environment
        environment["DELIVER_LINGER_SECONDS"] = "0"
        try send()
        _ = try Programs.run("deliver", environment: environment)
        try send()
        let named = try ask(
            "onesignal-users", "PATCH", "\(Self.app)/users/by/crm/17/identity",
            #"{"identity": {"external_id": "cid"}}"#, in: installation)
        #expect(named.status == 200, "\(named.body)")
        let erased = try ask("users", "DELETE", "/api/users/cid", in: installation)
        #expect(erased.status == 200, "\(erased.body)")
        for word in [Self.anonymous, Self.token] {
            let left = installation.state.files().filter {
                $0.key.contains(word) || String(decoding: $0.value, as: UTF8.self).contains(word)
            }
            // Files that deliver writes in place of a gateway are not part of the state.
            #expect(left.keys.filter { !$0.hasPrefix("outgoing/") } == [], "\(word)")
        }
    }

    @Test("an erasure says what could not be removed")
    func failingToErase() throws {
        var refused = 0
        for number in 1...40 {
            let installation = try installation(of: "annabella", in: "users/f3/annabella.json")
            let ended = try Programs.start(
                at: SystemCalls.tracer,
                [
                    "-f", "-qq", "-o", "/dev/null", "-e",
                    "inject=unlink:error=EIO:when=\(number)", "--", Programs.path("users"),
                ], input: Array(event("DELETE", "/api/users/annabella", "null").utf8),
                entries: installation.environment.map { "\($0.key)=\($0.value)" }
            ).end()
            let answer = try Answer(event: ended.stdout)
            let left = installation.state.files().filter {
                $0.key.contains("annabella")
                    || String(decoding: $0.value, as: UTF8.self).contains("annabella")
            }
            guard !left.isEmpty else { continue }
            refused += 1
            let unreadable = answer.json?.object?["erased"]?.object?["unreadable"]?.integer ?? 0
            #expect(answer.status >= 500 || unreadable > 0, "unlink \(number): \(left.keys)")
        }
        #expect(refused > 0)
    }

    @Test("a device that gets a new token while it is transferred goes to its new user whole")
    func raced() throws {
        for round in 0..<8 {
            let installation = try installation(of: "ann", in: "users/49/ann.json")
            let new = String(repeating: "a\(round)bc", count: 16)
            let path = "\(Self.app)/subscriptions/\(Self.id)"
            let running = try [
                (path + "/owner", #"{"identity": {"external_id": "bob"}}"#),
                (path, #"{"subscription": {"type": "iOSPush", "token": "\#(new)"}}"#),
            ].map { (path, body) in
                try Programs.start(
                    "onesignal-subscriptions", input: Array(event("PATCH", path, body).utf8),
                    entries: installation.environment.map { "\($0.key)=\($0.value)" })
            }
            let statuses = try running.map { try Answer(event: $0.end().stdout).status }
            #expect(statuses == [200, 202])
            #expect(try holders(of: Self.token, in: installation) == [])
            #expect(try holders(of: new, in: installation).count == 1)
            #expect(try holders(of: new, in: installation) != ["users/49/ann.json"])
        }
    }

    @Test("a device that is deleted while it is transferred is nobody's")
    func deletedInTransfer() throws {
        for _ in 0..<8 {
            let installation = try installation(of: "ann", in: "users/49/ann.json")
            let path = "\(Self.app)/subscriptions/\(Self.id)"
            let running = try [
                ("PATCH", path + "/owner", #"{"identity": {"external_id": "bob"}}"#),
                ("DELETE", path, "null"),
            ].map { (method, path, body) in
                try Programs.start(
                    "onesignal-subscriptions", input: Array(event(method, path, body).utf8),
                    entries: installation.environment.map { "\($0.key)=\($0.value)" })
            }
            let statuses = try running.map { try Answer(event: $0.end().stdout).status }
            #expect(statuses[1] == 202 && [200, 404].contains(statuses[0]), "\(statuses)")
            #expect(try holders(of: Self.token, in: installation) == [])
        }
    }
}
