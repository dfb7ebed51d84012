import JSON
import Testing
import Turnstone

/// What makes a push different on one service's devices.
@Suite struct PushOverridesTests {
    private static func overrides(_ text: String) throws -> PushOverrides {
        let members = try #require(try JSON.parse(Array(text.utf8)).object)
        return PushOverrides(
            apns: members["apns"]?.object, android: members["android"]?.object,
            web: members["web"]?.object)
    }

    private static func content(
        _ aps: JSONObject, _ overrides: String = "{}", type: PushType = .alert
    ) throws -> PushContent {
        var content = PushContent(
            type: type, priority: 10, collapseID: nil,
            payload: Payload(aps: aps, data: ["a": ["b": 1, "c": 2]]))
        content.overrides = try Self.overrides(overrides)
        return content
    }

    @Test(
        "a mute holds a message on the devices of the services that show it",
        arguments: [
            (#"{"apns": {"aps": {"alert": {"title": "hi"}}}}"#, [.apns]),
            (#"{"apns": {"aps": {"sound": "x.caf"}}}"#, [.apns]),
            (#"{"android": {"notification": {"title": "hi"}}}"#, [.fcm]),
            (#"{"android": {"notification": {"body_loc_key": "hi"}}}"#, [.fcm]),
            (#"{"web": {"body": "hi"}}"#, [.web]),
            (#"{"apns": {"aps": {"sound": null, "thread-id": "a"}}}"#, []),
            (#"{"android": {"notification": {"channel_id": "a"}}, "web": {"tag": "a"}}"#, []),
            ("{}", []),
        ] as [(String, [PushService])])
    func mute(overrides: String, shownOn shown: [PushService]) throws {
        let urgent: JSONObject = ["alert": "a", "interruption-level": "time-sensitive"]
        for service in [PushService.apns, .fcm, .web] {
            let isSilent = !shown.contains(service)
            for type in [PushType.alert, .background] {
                let content = try Self.content(["badge": 3], overrides, type: type)
                #expect(content.isExempt(on: service) == isSilent)
            }
            #expect(try Self.content(urgent, overrides).isExempt(on: service))
        }
    }

    @Test("a text that one service's devices do not show is not held there")
    func hidden() throws {
        let content = try Self.content(["alert": "a"], #"{"apns": {"aps": {"alert": null}}}"#)
        #expect(content.isExempt(on: .apns) && !content.isExempt(on: .fcm))
    }

    @Test(
        "each service's devices show its own texts, and the common ones where it has none",
        arguments: [
            (PushService.apns, "Apple", "B"), (.fcm, "A", "Android"), (.web, "Web", "Page"),
        ])
    func shown(service: PushService, title: String, body: String) throws {
        let content = try Self.content(
            ["alert": ["title": "A", "body": "B"]],
            #"{"apns": {"aps": {"alert": {"title": "Apple"}}}, "android": {"notification": {"body": "Android"}}, "web": {"title": "Web", "body": "Page"}}"#
        )
        let alert = content.payload(shownOn: service).aps["alert"]
        #expect(alert == ["title": .string(title), "body": .string(body)])
    }

    @Test(
        "apns is merged over the payload, and null removes",
        arguments: [
            ("{}", #"{"aps":{"alert":{"title":"T"},"sound":"s"},"a":{"b":1,"c":2}}"#),
            (
                #"{"apns": {"a": {"c": null, "d": {"e": null}}, "x": 1}}"#,
                #"{"aps":{"alert":{"title":"T"},"sound":"s"},"a":{"b":1,"d":{}},"x":1}"#
            ),
            (
                #"{"apns": {"aps": {"sound": null, "alert": {"body": "B"}}, "a": null}}"#,
                #"{"aps":{"alert":{"title":"T","body":"B"}}}"#
            ),
            (
                #"{"apns": {"aps": {"alert": "text"}}, "web": {"title": "W"}}"#,
                #"{"aps":{"alert":"text","sound":"s"},"a":{"b":1,"c":2}}"#
            ),
        ])
    func merged(overrides: String, payload: String) throws {
        let content = try Self.content(["alert": ["title": "T"], "sound": "s"], overrides)
        #expect(String(decoding: content.apnsPayload.text, as: UTF8.self) == payload)
        #expect(content.payload.aps["sound"] == "s", "the others' payload stays")
    }

    @Test(
        "what is right is accepted",
        arguments: [
            "{}", #"{"apns": {}, "android": {}, "web": {}}"#,
            #"{"apns": {"aps": {"alert": null, "sound": {"name": "x"}, "thread-id": "t", "mutable-content": 1, "relevance-score": 0.5, "interruption-level": "passive"}, "own": [1]}}"#,
            #"{"android": {"collapse_key": "c", "priority": "HIGH", "ttl": "3.5s", "direct_boot_ok": true, "data": {"a": "b"}, "fcm_options": {"analytics_label": "l"}}}"#,
            ##"{"android": {"ttl": "2419200s", "notification": {"title": "t", "color": "#aaBB00", "notification_count": 3, "vibrate_timings": ["0.5s", "1s"], "visibility": "SECRET", "event_time": "2026-11-21T12:00:00Z", "image": "https://a.b/c.png", "light_settings": {"color": {"red": 1, "alpha": 0.5}, "light_on_duration": "1s"}, "channel_id": null, "body_loc_key": "k", "body_loc_args": ["x"]}}}"##,
            #"{"android": {"ttl": null, "notification": null}}"#,
            #"{"web": {"title": "t", "icon": "https://a.b/c.png", "requireInteraction": true, "actions": []}}"#,
        ])
    func accepted(text: String) throws {
        try Self.overrides(text).check(for: .alert)
    }

    @Test(
        "what is wrong is named",
        arguments: [
            (#"{"apns": {"aps": 1}}"#, "apns.aps must be an object"),
            (#"{"apns": {"aps": null}}"#, "apns.aps must be an object"),
            (
                #"{"apns": {"aps": {"badge": 1}}}"#,
                "apns.aps.badge is not allowed: use badge, which is each user's own"
            ),
            (#"{"apns": {"aps": {"sound": 1}}}"#, "apns.aps.sound must be a string or an object"),
            (
                #"{"apns": {"aps": {"interruption-level": "loud"}}}"#,
                "apns.aps.interruption-level must be one of passive, active, time-sensitive, critical"
            ),
            (#"{"apns": {"aps": {"mutable_content": 1}}}"#, "apns.aps.mutable_content is unknown"),
            (
                #"{"apns": {"aps": {"mutable-content": true}}}"#,
                "apns.aps.mutable-content must be 0 or 1"
            ),
            (
                #"{"android": {"title": "x"}}"#,
                "android.title is unknown: it must be one of collapse_key"
            ),
            (#"{"android": {"priority": "LOUD"}}"#, "android.priority must be one of NORMAL, HIGH"),
            (#"{"android": {"ttl": 5}}"#, "android.ttl must be 0s to 2419200s"),
            (#"{"android": {"ttl": "2419200.1s"}}"#, "android.ttl must be 0s to 2419200s"),
            (#"{"android": {"ttl": "-1s"}}"#, "android.ttl must be 0s to 2419200s"),
            (#"{"android": {"ttl": "99999999999999999999s"}}"#, "android.ttl must be 0s"),
            (#"{"android": {"data": {"a": 1}}}"#, "android.data must be an object of strings"),
            (
                #"{"android": {"data": {"From": "x"}}}"#,
                "android.data.From is not allowed: FCM reserves"
            ),
            (#"{"android": {"data": {"gcm.x": "x"}}}"#, "android.data.gcm.x is not allowed"),
            (#"{"android": {"data": {"collapse_key": "x"}}}"#, "android.data.collapse_key is not"),
            (
                #"{"android": {"notification": {"body_loc_args": ["x"]}}}"#,
                "android.notification.body_loc_args requires body_loc_key"
            ),
            (
                #"{"android": {"notification": {"title_loc_args": [], "title_loc_key": null}}}"#,
                "android.notification.title_loc_args requires title_loc_key"
            ),
            (#"{"android": {"notification": []}}"#, "android.notification must be an object"),
            (
                #"{"android": {"notification": {"color": "red"}}}"#,
                "android.notification.color must be a color such as #rrggbb"
            ),
            (
                #"{"android": {"notification": {"notification_count": -1}}}"#,
                "android.notification.notification_count must be a whole number"
            ),
            (
                #"{"android": {"notification": {"vibrate_timings": ["1"]}}}"#,
                "android.notification.vibrate_timings must be an array of seconds"
            ),
            (
                #"{"android": {"notification": {"event_time": "now, or a little later"}}}"#,
                "android.notification.event_time must be a time"
            ),
            (
                #"{"android": {"notification": {"image": "javascript:1"}}}"#,
                "android.notification.image must be an http or https address"
            ),
            (
                #"{"android": {"notification": {"light_settings": {"color": {"red": "1"}}}}}"#,
                "android.notification.light_settings.color.red must be a number"
            ),
            (
                #"{"android": {"fcm_options": {"analytics_label": "a b"}}}"#,
                "android.fcm_options.analytics_label must be 1 to 50 letters"
            ),
            (#"{"web": {"title": " "}}"#, "web.title must be a text that shows something"),
            (#"{"web": {"icon": "http://a.b/c"}}"#, "web.icon must be an absolute https URL"),
            (#"{"web": {"color": "x"}}"#, "web.color is unknown"),
        ])
    func refused(text: String, sentence: String) throws {
        let overrides = try Self.overrides(text)
        let failure = try #require(throws: Failure.self) { try overrides.check(for: .alert) }
        #expect(failure.sentence.hasPrefix(sentence), "\(failure.sentence)")
        guard case .refused = failure.disposition else {
            Issue.record("\(failure.disposition)")
            return
        }
    }

    @Test("the arguments and the key of a text may come from the message and from the override")
    func localizedArguments() throws {
        let alert: JSONObject = ["loc-key": "k", "loc-args": ["x"]]
        func check(_ notification: String) throws {
            try Self.overrides(#"{"android": {"notification": \#(notification)}}"#)
                .check(for: .alert, alert: alert)
        }
        try check(#"{"body_loc_args": ["y"]}"#)
        try check(#"{"body_loc_key": null, "body_loc_args": null}"#)
        #expect(throws: Failure.self) { try check(#"{"body_loc_key": null}"#) }
    }

    @Test(
        "fcm_options in data are as FCM takes them",
        arguments: [
            ("{}", nil), (#"{"fcm_options": null}"#, nil),
            (
                #"{"fcm_options": {"analytics_label": "a-1", "image": "https://a.b/c.png"}}"#, nil
            ),
            (#"{"fcm_options": "x"}"#, "data.fcm_options must be an object"),
            (
                #"{"fcm_options": {"analytics_label": "a b"}}"#,
                "data.fcm_options.analytics_label must be 1 to 50 letters"
            ),
            (#"{"fcm_options": {"image": "x"}}"#, "data.fcm_options.image must be an http"),
            (#"{"fcm_options": {"link": "x"}}"#, "data.fcm_options.link is unknown"),
        ])
    func options(text: String, sentence: String?) throws {
        let data = try #require(try JSON.parse(Array(text.utf8)).object)
        var failure: Failure?
        do throws(Failure) { try PushOverrides.checkFCMOptions(in: data) } catch {
            failure = error
        }
        #expect(failure?.sentence.hasPrefix(sentence ?? "?") == (sentence == nil ? nil : true))
    }

    @Test(
        "a background push stays one",
        arguments: [
            #"{"apns": {"aps": {"alert": "x"}}}"#, #"{"apns": {"aps": {"sound": "x"}}}"#,
            #"{"apns": {"aps": {"content-available": null}}}"#,
            #"{"apns": {"aps": {"content-available": 0}}}"#,
        ])
    func background(text: String) throws {
        let overrides = try Self.overrides(text)
        #expect(throws: Failure.self) { try overrides.check(for: .background) }
        try Self.overrides(#"{"apns": {"aps": {"alert": null}, "x": 1}}"#).check(for: .background)
    }

    @Test(
        "a service gets what its devices can show",
        arguments: [
            (["alert": ["title": "T"]], "{}", PushType.alert, [PushService.apns, .fcm, .web]),
            (["alert": ["subtitle": "T"]], "{}", .alert, [.apns, .fcm, .web]),
            (["alert": ["body": "T"]], "{}", .alert, [.apns, .fcm, .web]),
            (["alert": ["title": " ", "body": "\u{200b}"]], "{}", .alert, [.apns, .fcm]),
            (["alert": ["loc-key": "T"]], "{}", .alert, [.apns, .fcm]),
            (
                ["alert": ["loc-key": "T"]], #"{"web": {"title": "T"}}"#, .alert,
                [.apns, .fcm, .web]
            ),
            (["alert": ["title": "T"]], #"{"web": {"title": null}}"#, .alert, [.apns, .fcm]),
            (["badge": 1], "{}", .alert, [.apns, .fcm]),
            (["content-available": 1], "{}", .background, [.apns, .fcm]),
            (
                ["content-available": 1], #"{"web": {"title": "T"}}"#, .background, [.apns, .fcm]
            ),
            (["alert": ["title": "T"]], "{}", .voip, [.apns]),
            (["content-changed": true], "{}", .widgets, [.apns]),
        ] as [(JSONObject, String, PushType, [PushService])])
    func suits(aps: JSONObject, overrides: String, type: PushType, services: [PushService]) throws {
        let content = try Self.content(aps, overrides, type: type)
        #expect(PushService.all.filter { content.suits($0) } == services)
    }

    @Test("without its texts, an override keeps the rest")
    func texts() throws {
        let overrides = try Self.overrides(
            ##"""
            {"apns": {"aps": {"alert": "x", "sound": "s"}, "a": 1},
             "android": {"notification": {"title": "x", "body_loc_key": "y", "color": "#aabbcc"}, "ttl": "1s"},
             "web": {"title": "x", "body": "y", "icon": "https://a.b/c"}}
            """##)
        #expect(
            try overrides.withoutTexts
                == Self.overrides(
                    ##"""
                    {"apns": {"aps": {"sound": "s"}, "a": 1},
                     "android": {"notification": {"color": "#aabbcc"}, "ttl": "1s"},
                     "web": {"icon": "https://a.b/c"}}
                    """##))
        #expect(PushOverrides().withoutTexts == PushOverrides())
    }
}
