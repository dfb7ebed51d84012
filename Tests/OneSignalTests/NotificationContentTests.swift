import Edge
import JSON
import Messages
import Testing
import Turnstone

@testable import OneSignal

@Suite struct NotificationContentTests {
    private func members(_ text: String) throws -> JSONObject {
        let object = try #require(JSON.parse(Array(text.utf8)).object)
        var fields = Fields(object)
        let content = try NotificationContent(&fields)
        try fields.finish()
        // What it makes must be a message.
        var made = Fields(content.members)
        _ = try Message(&made, kind: "message", now: Timestamp(milliseconds: 1_795_262_400_000))
        try made.finish()
        return content.members
    }

    @Test(
        "a member becomes ours",
        arguments: [
            (#""ios_badgeType":"Increase","ios_badgeCount":2"#, "badge", #""+2""#),
            (#""ios_badgeType":"Increase","ios_badgeCount":-1"#, "badge", #""-1""#),
            (#""ios_badgeType":"SetTo","ios_badgeCount":0"#, "badge", "0"),
            (#""ios_sound":"bell.caf""#, "sound", #""bell.caf""#),
            (#""ttl":0"#, "expires_in", "0"),
            (#""priority":10"#, "priority", "10"), (#""priority":3"#, "priority", "5"),
            (
                #""ios_interruption_level":"time_sensitive""#, "interruption_level",
                #""time-sensitive""#
            ),
            (#""url":"https://example.org/7""#, "data", #"{"url":"https://example.org/7"}"#),
            (#""data":{"url":"own"},"app_url":"app://7""#, "data", #"{"url":"own"}"#),
            (#""android_channel_id":"c""#, "android", #"{"notification":{"channel_id":"c"}}"#),
            (
                #""android_accent_color":"FF336699""#, "android",
                ##"{"notification":{"color":"#336699"}}"##
            ),
            (#""android_sound":"nil""#, "android", #"{"notification":{"sound":null}}"#),
            (
                #""big_picture":"https://e.org/p""#, "android",
                #"{"notification":{"image":"https://e.org/p"}}"#
            ),
            (
                #""web_buttons":[{"id":"a","text":"A","url":"https://e.org/a"}]"#, "web",
                #"{"actions":[{"action":"a","title":"A","navigate":"https://e.org/a"}]}"#
            ),
            (
                #""ios_attachments":{"x":"https://e.org/p"}"#, "apns",
                #"{"att":{"x":"https://e.org/p"}}"#
            ),
            (#""send_after":"2026-11-21 15:00:00 GMT+0100""#, "send_after", "1795269600"),
        ])
    func member(theirs: String, name: String, ours: String) throws {
        let made = try members(#"{"contents":{"en":"x"},"# + theirs + "}")
        #expect(made[name] == (try JSON.parse(Array(ours.utf8))))
    }

    @Test(
        "a refusal has OneSignal's names",
        arguments: [
            (#""ios_relevance_score":2"#, "ios_relevance_score must be between 0 and 1"),
            (#""ios_interruption_level":"x""#, "ios_interruption_level must be"),
            (#""ios_badgeType":"SetTo","ios_badgeCount":-1"#, "ios_badgeCount must be"),
            (#""web_url":"http://e.org""#, "web_url must be an absolute https URL"),
            (#""chrome_web_image":"x""#, "chrome_web_image must be"),
            (#""big_picture":"x""#, "big_picture must be"),
            (#""global_image":"x""#, "global_image must be"),
            (#""android_accent_color":"zz""#, "android_accent_color must be"),
            (#""apns_alert":{"title":5}"#, "apns_alert.title must be a string"),
            (#""throttle_rate_per_minute":99999999999"#, "throttle_rate_per_minute must be"),
            (#""headings":{"xx-":"a"}"#, "headings: xx- is not a language"),
            (
                #""web_buttons":[{"id":"a","text":"A","url":"http://e.org"}]"#,
                "web_buttons: text of each must show something, and url"
            ),
            (
                #""apns_push_type_override":"voip""#,
                "this server does not support apns_push_type_override voip"
            ),
        ])
    func refusal(theirs: String, sentence: String) throws {
        let object = try #require(
            JSON.parse(Array((#"{"contents":{"en":"x"},"# + theirs + "}").utf8)).object)
        let failure = #expect(throws: Failure.self) {
            var fields = Fields(object)
            _ = try NotificationContent(&fields).message(at: Timestamp(milliseconds: 0))
        }
        #expect(failure?.sentence.hasPrefix(sentence) == true, "\(failure?.sentence ?? "")")
    }

    @Test(
        "an address that browsers cannot open is for apps",
        arguments: ["myapp://7", "http://e.org"])
    func ownAddress(address: String) throws {
        let made = try members(
            #"{"contents":{"en":"x"},"url":"\#(address)","buttons":[{"id":"a","text":"A"}]}"#)
        #expect(made["data"]?.object?["url"] == .string(address))
        #expect(made["web"] == nil)
    }

    @Test func textsKeepTheirLanguages() throws {
        let texts: JSONValue = ["de": "Welt", "en": "World"]
        #expect(try members(#"{"contents":{"de":"Welt","en":"World"}}"#)["body"] == texts)
        // An empty text and null count as missing.
        let made = try members(
            #"{"contents":{"de":"Welt","fr":"","it":null},"headings":{"en":""}}"#)
        #expect(made["body"] == ["de": "Welt"] && made["title"] == nil)
    }

    @Test func whatIsNotSaidHasOneSignalsDefaults() throws {
        let made = try members(#"{"contents":{"en":"x"}}"#)
        #expect(made["sound"] == "default")
        #expect(made["expires_in"] == 259_200)
        #expect(made["badge"] == nil && made["priority"] == nil && made["data"] == nil)
    }

    @Test func aSilentNotificationShowsNothing() throws {
        let made = try members(#"{"content_available":true,"priority":10,"data":{"a":1}}"#)
        #expect(made["sound"] == nil && made["body"] == nil && made["priority"] == nil)
    }

    @Test(
        "a wrong value is refused",
        arguments: [
            #"{}"#, #"{"contents":{}}"#, #"{"contents":{"en":1}}"#,
            #"{"contents":{"en":"x"},"ios_badgeType":"More"}"#,
            #"{"contents":{"en":"x"},"ios_badgeType":"Increase"}"#,
            #"{"contents":{"en":"x"},"ttl":2419201}"#, #"{"contents":{"en":"x"},"priority":0}"#,
            #"{"contents":{"en":"x"},"send_after":"soon"}"#,
            #"{"contents":{"en":"x"},"buttons":[{"id":"a"}]}"#,
            #"{"contents":{"en":"x"},"big_picture":"resource"}"#,
            #"{"contents":{"en":"x"},"data":{"aps":{}}}"#,
            #"{"contents":{"en":"x"},"android_accent_color":"red"}"#,
        ])
    func refused(text: String) {
        #expect(throws: Failure.self) { try members(text) }
    }
}
