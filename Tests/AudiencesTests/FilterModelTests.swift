import Audiences
import Foundation
import JSON
import TestSupport
import Testing
import Turnstone

/// Random filters and users: the module must agree with an evaluation that is as plain as can be, written
/// over the JSON texts with Foundation.
@Suite struct FilterModelTests {
    @Test("10,000 random filters mean what a plain evaluation says")
    func agreement() throws {
        var random = Seeded(seed: UInt64.random(in: 0 ..< .max))
        let seed = random.state
        var matches = 0
        for round in 0..<10_000 {
            let list = randomFilter(&random)
            let filter = try Filter(JSON.parse(Array(list.utf8)))
            let user = randomUser(&random)
            let expected = plainly(
                matches: user,
                try #require(
                    JSONSerialization.jsonObject(with: Data(list.utf8)) as? [[String: Any]]))
            let result = filter.matches(user.facts, at: Timestamp(milliseconds: Self.now))
            guard result == expected else {
                Issue.record("seed \(seed), round \(round): \(list) for \(user): \(result)")
                return
            }
            let again = try Filter(filter.json)
            #expect(again == filter)
            matches += result ? 1 : 0
        }
        // Otherwise the test would show little.
        #expect((2000...8000).contains(matches), "seed \(seed)")
    }

    static let now: Int64 = 1_795_262_400_000

    struct RandomUser {
        var tags: [String: String] = [:]  // JSON texts
        var language: String?
        var country: String?
        var platform = "ios"
        var version: [Int]?
        var lastSession: Int64?
        var firstSession: Int64?
        var sessions = 0

        /// The profile as a user's document has it.
        var document: [String: Any] {
            var members: [String: Any] = ["revision": 1]
            members["tags"] = tags.mapValues {
                try! JSONSerialization.jsonObject(with: Data($0.utf8), options: .fragmentsAllowed)
            }
            members["language"] = language
            members["country"] = country
            members["last_session"] = lastSession
            members["first_session"] = firstSession
            if sessions > 0 { members["sessions"] = sessions }
            return members
        }

        var facts: Facts {
            var profile = Profile()
            for (name, text) in tags {
                profile.tags[name] = try? JSON.parse(Array(text.utf8))
            }
            profile.language = language.flatMap { LanguageTag($0) }
            profile.country = country.flatMap { CountryCode($0) }
            profile.lastSession = lastSession.map { Timestamp(milliseconds: $0) }
            profile.firstSession = firstSession.map { Timestamp(milliseconds: $0) }
            profile.sessionCount = Int64(sessions)
            return Facts(
                profile, platform: Platform(rawValue: platform)!,
                appVersion: version.map { $0.map(String.init).joined(separator: ".") })
        }
    }

    func randomUser(_ random: inout Seeded) -> RandomUser {
        var user = RandomUser()
        for name in Self.names where random.one(in: 3) != 0 {
            user.tags[name] = Self.values[random.one(in: Self.values.count)]
        }
        if random.one(in: 4) != 0 { user.language = Self.languages[random.one(in: 4)] }
        if random.one(in: 4) != 0 { user.country = Self.countries[random.one(in: 3)] }
        if random.one(in: 2) == 0 { user.platform = "android" }
        if random.one(in: 4) != 0 { user.version = [random.one(in: 3), random.one(in: 12)] }
        if random.one(in: 4) != 0 {
            user.lastSession = Self.now - Int64(random.one(in: 10)) * 3_600_000
        }
        if random.one(in: 4) != 0 {
            user.firstSession = Self.now - Int64(random.one(in: 99)) * 3_600_000
        }
        user.sessions = random.one(in: 5)
        return user
    }

    private static let names = ["a", "b", "c"]
    private static let values = [
        "0", "1", "2", "10", "-1", "1.5", "\"1\"", "\"10\"", "\"1.5\"", "\"x\"", "\"y\"", "\"\"",
        "1.0",
    ]
    private static let languages = ["en", "en-GB", "de", "pt-BR"]
    private static let countries = ["DE", "US", "BR"]

    func randomFilter(_ random: inout Seeded) -> String {
        var elements: [String] = []
        for place in 0...random.one(in: 4) {
            if place > 0 {
                switch random.one(in: 3) {
                case 0: elements.append(#"{"operator": "OR"}"#)
                case 1: elements.append(#"{"operator": "AND"}"#)
                default: break
                }
            }
            elements.append(randomCondition(&random))
        }
        return "[\(elements.joined(separator: ", "))]"
    }

    private func randomCondition(_ random: inout Seeded) -> String {
        func one(_ list: [String]) -> String { list[random.one(in: list.count)] }
        func condition(_ field: String, _ relation: String, _ value: () -> String) -> String {
            switch relation {
            case "exists", "not_exists": return #"{\#(field), "relation": "\#(relation)"}"#
            case "in":
                return #"{\#(field), "relation": "in", "value": [\#(value()), \#(value())]}"#
            default: return #"{\#(field), "relation": "\#(relation)", "value": \#(value())}"#
            }
        }
        let ordered = ["=", "!=", ">", "<", "in", "exists", "not_exists"]
        let unordered = ["=", "!=", "in", "exists", "not_exists"]
        switch random.one(in: 8) {
        case 0, 1:
            return condition(#""field": "tag", "key": "\#(one(Self.names))""#, one(ordered)) {
                one(Self.values)
            }
        case 2:
            return condition(#""field": "language""#, one(unordered)) {
                "\"\(one(Self.languages))\""
            }
        case 3:
            return condition(#""field": "country""#, one(unordered)) {
                "\"\(one(Self.countries))\""
            }
        case 4:
            return condition(#""field": "platform""#, one(["=", "!=", "in"])) {
                one(["\"ios\"", "\"android\""])
            }
        case 5:
            return condition(#""field": "app_version""#, one(ordered)) {
                "\"\(random.one(in: 3)).\(random.one(in: 12))\""
            }
        case 6:
            let field = one(["first_session", "last_session"])
            return condition("\"field\": \"\(field)\"", one([">", "<", "exists", "not_exists"])) {
                one(["0", "2.5", "5", "50", "99.99"])
            }
        default:
            return condition(#""field": "session_count""#, one(["=", "!=", ">", "<", "in"])) {
                "\(random.one(in: 5))"
            }
        }
    }

    // MARK: - The plain evaluation

    func plainly(matches user: RandomUser, _ list: [[String: Any]]) -> Bool {
        var result = false
        var group = true
        for element in list {
            if let word = element["operator"] as? String {
                guard word == "OR" else { continue }
                result = result || group
                group = true
            } else {
                group = group && plainly(holds: element, for: user)
            }
        }
        return result || group
    }

    private func plainly(holds condition: [String: Any], for user: RandomUser) -> Bool {
        let relation = condition["relation"] as! String
        let stated = condition["value"]
        let own: Any?
        switch condition["field"] as! String {
        case "tag":
            own = user.tags[condition["key"] as! String].map {
                try! JSONSerialization.jsonObject(with: Data($0.utf8), options: .fragmentsAllowed)
            }
        case "language": own = user.language
        case "country": own = user.country
        case "platform": own = user.platform
        case "app_version":
            // Large enough for the test's parts, and a number, as `stated` is made one below.
            own = user.version.map { NSNumber(value: $0[0] * 1000 + $0[1]) }
        case "first_session": own = user.firstSession.map { hours($0) }
        case "last_session": own = user.lastSession.map { hours($0) }
        default: own = NSNumber(value: user.sessions)
        }
        func number(_ value: Any) -> Any {
            guard condition["field"] as! String == "app_version" else { return value }
            let parts = (value as! String).split(separator: ".").map { Int($0)! }
            return NSNumber(value: parts[0] * 1000 + parts[1])
        }
        let isLanguage = condition["field"] as! String == "language"
        func equal(_ own: Any, _ stated: Any) -> Bool {
            if isLanguage {
                return own as! String == stated as! String
                    || (own as! String).hasPrefix("\(stated)-")
            }
            if own is String, stated is String { return own as! String == stated as! String }
            guard let left = Double("\(own)"), let right = Double("\(stated)") else { return false }
            return left == right
        }
        func less(_ left: Any, _ right: Any) -> Bool {
            switch (Double("\(left)"), Double("\(right)")) {
            case (let left?, let right?): left < right
            case (nil, nil): (left as! String) < (right as! String)
            default: false
            }
        }
        switch relation {
        case "exists": return own != nil
        case "not_exists": return own == nil
        case "!=": return own.map { !equal($0, number(stated!)) } ?? true
        default: break
        }
        guard let own else { return false }
        switch relation {
        case "=": return equal(own, number(stated!))
        case ">": return less(number(stated!), own)
        case "<": return less(own, number(stated!))
        default: return (stated as! [Any]).contains { equal(own, number($0)) }
        }
    }

    private func hours(_ moment: Int64) -> NSNumber {
        NSNumber(value: Double(Self.now - moment) / 3_600_000)
    }
}
