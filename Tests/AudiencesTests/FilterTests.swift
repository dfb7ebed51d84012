import Audiences
import Foundation
import JSON
import Testing
import Turnstone

/// What single conditions mean, and what is refused.
@Suite struct FilterTests {
    private let now = Timestamp(milliseconds: 1_795_262_400_000)

    private func filter(_ text: String) throws -> Filter {
        try Filter(JSON.parse(Array(text.utf8)))
    }

    private func facts(_ tags: String, version: String? = nil) throws -> Facts {
        var profile = Profile()
        profile.tags = try #require(try JSON.parse(Array(tags.utf8)).object)
        return Facts(profile, platform: .ios, appVersion: version)
    }

    @Test(
        "a tag is compared as a number where both are numbers",
        arguments: [
            (#"{"a": 10}"#, ">", "9", true), (#"{"a": "10"}"#, ">", #""9""#, true),
            (#"{"a": 10}"#, "=", "10.0", true), (#"{"a": "10"}"#, "=", "10", true),
            (#"{"a": "1.10"}"#, "=", #""1.1""#, false), (#"{"a": 1.10}"#, "=", "1.1", true),
            (#"{"a": "abc"}"#, ">", "5", false), (#"{"a": "abc"}"#, "<", "5", false),
            (#"{"a": "abc"}"#, ">", #""abb""#, true), (#"{"a": "007"}"#, "=", "7", false),
            (#"{"a": -2}"#, "<", "-1", true), (#"{"a": -0.5}"#, "<", "0", true),
            (#"{"a": 1e3}"#, "=", "1000", true), (#"{"a": "1e3"}"#, "=", "1000", false),
            (#"{"a": 0.1}"#, "<", "0.11", true), (#"{"a": 100}"#, ">", "99.9", true),
            (#"{"a": "12345678901234567891"}"#, ">", #""12345678901234567890""#, true),
            (#"{"a": "12345678901234567890"}"#, "=", "12345678901234567891.0", false),
            ("{}", "=", "1", false), ("{}", "!=", "1", true), ("{}", "<", "1", false),
            (#"{"a": 0}"#, "=", "-0.0", true),
        ])
    func tag(tags: String, relation: String, value: String, holds: Bool) throws {
        let filter = try filter(
            #"[{"field": "tag", "key": "a", "relation": "\#(relation)", "value": \#(value)}]"#)
        #expect(filter.matches(try facts(tags), at: now) == holds)
    }

    @Test(
        "the parts of a version are compared as numbers",
        arguments: [
            ("3.10", ">", "3.9", true), ("3.0", "=", "3", true), ("3", "<", "3.0.1", true),
            ("2-beta", "<", "2", true), ("10", ">", "9", true), ("1.02", "=", "1.2", true),
            ("3.10", "=", "3.1", false),
        ])
    func version(own: String, relation: String, value: String, holds: Bool) throws {
        let filter = try filter(
            #"[{"field": "app_version", "relation": "\#(relation)", "value": "\#(value)"}]"#)
        #expect(filter.matches(try facts("{}", version: own), at: now) == holds)
        #expect(!filter.matches(try facts("{}"), at: now))
    }

    @Test("a language means its varieties, but not the other way round")
    func language() throws {
        let filter = try filter(#"[{"field": "language", "relation": "=", "value": "PT"}]"#)
        for (language, isMeant) in [("pt-BR", true), ("pt", true), ("ptx", false), ("en", false)] {
            var profile = Profile()
            profile.language = LanguageTag(language)
            let facts = Facts(profile, platform: .android, appVersion: nil)
            #expect(filter.matches(facts, at: now) == isMeant, "\(language)")
        }
    }

    @Test("AND binds tighter than OR")
    func precedence() throws {
        let filter = try filter(
            #"""
            [{"field": "tag", "key": "a", "relation": "exists"}, {"operator": "OR"},
             {"field": "tag", "key": "b", "relation": "exists"}, {"operator": "AND"},
             {"field": "tag", "key": "c", "relation": "exists"}]
            """#)
        #expect(filter.matches(try facts(#"{"a": 1}"#), at: now))
        #expect(filter.matches(try facts(#"{"b": 1, "c": 1}"#), at: now))
        #expect(!filter.matches(try facts(#"{"b": 1}"#), at: now))
        #expect(!filter.matches(try facts(#"{"c": 1}"#), at: now))
    }

    @Test(
        "a refusal names the place",
        arguments: [
            ("[]", "filters must be an array of at least one condition"),
            (#"[{"operator": "OR"}]"#, "filters[0]: an operator must follow a condition"),
            (
                #"[{"field": "tag", "key": "a", "relation": "exists"}, {"operator": "OR"}]"#,
                "filters must not end with an operator"
            ),
            (
                #"[{"field": "tag", "relation": "="}]"#,
                "filters[0].key must be a tag's name of 1 to 128 bytes"
            ),
            (#"[{"field": "tag", "key": "a", "relation": "="}]"#, "filters[0].value is required"),
            (
                #"[{"field": "tag", "key": "a", "relation": "=", "value": true}]"#,
                "filters[0].value must be a string of at most 255 bytes or a number"
            ),
            (
                #"[{"field": "tag", "key": "a", "relation": "=", "value": 1, "x": 1}]"#,
                "unknown member filters[0].x"
            ),
            (
                #"[{"field": "country", "relation": ">", "value": "DE"}]"#,
                "filters[0].relation: > is not possible with country"
            ),
            (
                #"[{"field": "last_session", "relation": "=", "value": 2}]"#,
                "filters[0].relation: = is not possible with last_session"
            ),
            (
                #"[{"field": "location", "relation": "exists"}]"#,
                "filters[0].field: locations are not known here"
            ),
            (
                #"[{"field": "platform", "relation": "=", "value": "vax"}]"#,
                "filters[0].value must be a platform such as ios"
            ),
            (#"[{"operator": "XOR"}]"#, "filters[0].operator must be AND or OR"),
        ])
    func refusal(text: String, sentence: String) throws {
        do {
            _ = try filter(text)
            Issue.record("\(text) was accepted")
        } catch let failure as Failure { #expect(failure.sentence == sentence) }
    }

    @Test("an empty list of filters admits nobody, and none admits everybody")
    func empty() throws {
        var selection = Selection()
        let anybody = try facts("{}")
        #expect(selection.admits(anybody, at: now))
        selection.included = []
        #expect(!selection.admits(anybody, at: now))
        #expect(!(try Selection(selection.json)).admits(anybody, at: now))
    }
}
