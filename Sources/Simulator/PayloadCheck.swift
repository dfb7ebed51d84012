import JSON
import Turnstone

/// Checks a push's body more strictly than APNs, which accepts a member of the wrong type; the phone then
/// shows nothing.
///
/// Apple: *Generating a remote notification*, and for Live Activities *Starting and updating Live
/// Activities with ActivityKit push notifications*.
enum PayloadCheck {
    static func check(
        _ body: [UInt8], length: Int, _ kind: PushKind
    ) throws(PushRefusal) -> JSONValue {
        guard length > 0 else { throw PushRefusal(400, "PayloadEmpty", "there is no body") }
        guard length <= kind.payloadLimit else {
            throw PushRefusal(
                413, "PayloadTooLarge", "\(length) bytes, and at most \(kind.payloadLimit)")
        }
        let payload: JSONValue
        do throws(JSONError) { payload = try JSON.parse(body) } catch {
            throw bad("it is not JSON, line \(error.line) column \(error.column)")
        }
        guard let aps = payload.object?["aps"] else {
            throw PushRefusal(400, "PayloadEmpty", "there is no aps in an object")
        }
        guard let aps = aps.object else { throw bad("aps is not an object") }
        for member in aps.members {
            guard let rule = rules[member.name] else { throw bad("aps has no \(member.name)") }
            guard rule(member.value) else { throw bad("\(member.name) is of the wrong kind") }
        }
        if let fault = fault(of: aps, kind) { throw bad(fault) }
        return payload
    }

    private static func bad(_ detail: String) -> PushRefusal {
        PushRefusal(400, "BadPayload", detail)
    }

    /// Describes what is wrong with a combination of valid members.
    private static func fault(of aps: JSONObject, _ kind: PushKind) -> String? {
        let shown = ["alert", "badge", "sound"].filter { aps[$0] != nil }
        if aps["mutable-content"] == 1, aps["alert"] == nil {
            return "mutable-content has no alert to change"
        }
        switch kind.name {
        case "alert":
            // APNs takes it, and the system wakes the app.
            let wakes = aps["content-available"] == 1
            return shown.isEmpty && !wakes ? "an alert push shows nothing" : nil
        case "background":
            guard aps["content-available"] == 1 else {
                return "a background push has no content-available"
            }
            return shown.first.map { "a background push has \($0)" }
        case "liveactivity": return activityFault(of: aps)
        case "widgets", "controls":
            return aps["content-changed"] == true ? nil : "there is no content-changed"
        default: return nil
        }
    }

    private static func activityFault(of aps: JSONObject) -> String? {
        var needed = ["timestamp", "event", "content-state"]
        if aps["event"] == "start" { needed += ["attributes-type", "attributes", "alert"] }
        // The phone plays the sound that is in the alert.
        if aps["sound"] != nil { return "a Live Activity's push has its sound beside its alert" }
        return needed.first { aps[$0] == nil }.map { "a Live Activity's push has no \($0)" }
    }

    private typealias Rule = @Sendable (JSONValue) -> Bool

    private static let text: Rule = { $0.string != nil }
    private static let object: Rule = { $0.object != nil }
    private static let integer: Rule = { $0.integer != nil }
    private static let one: Rule = { $0 == 1 }
    private static let bit: Rule = { $0 == 0 || $0 == 1 }
    private static let moment: Rule = { (0..<10_000_000_000).contains($0.integer ?? -1) }

    private static let rules: [String: Rule] = [
        "alert": { $0.string != nil || isAlert($0) },
        "badge": { ($0.integer ?? -1) >= 0 },
        "sound": { $0.string != nil || isSound($0) },
        "thread-id": text,
        "category": text,
        "content-available": bit,
        "mutable-content": bit,
        "target-content-id": text,
        "interruption-level": {
            ["passive", "active", "time-sensitive", "critical"].contains($0.string ?? "")
        },
        "relevance-score": { number($0) != nil },
        "filter-criteria": text,
        "timestamp": moment,
        "event": { ["start", "update", "end"].contains($0.string ?? "") },
        "content-state": object,
        "stale-date": moment,
        "dismissal-date": moment,
        "attributes-type": text,
        "attributes": object,
        "input-push-channel": text,
        "input-push-token": one,
        "content-changed": { $0.bool != nil },
    ]

    private static func number(_ value: JSONValue) -> Double? {
        switch value {
        case .integer(let number): Double(number)
        case .number(let number): number.value
        default: nil
        }
    }

    private static func isAlert(_ value: JSONValue) -> Bool {
        let texts = [
            "title", "subtitle", "body", "launch-image", "title-loc-key", "subtitle-loc-key",
            "loc-key", "sound", "summary-arg", "action-loc-key",
        ]
        let lists = ["title-loc-args", "subtitle-loc-args", "loc-args"]
        guard let members = value.object?.members, !members.isEmpty else { return false }
        return members.allSatisfy { member in
            if member.name == "summary-arg-count" { return member.value.integer != nil }
            if texts.contains(member.name) { return member.value.string != nil || isLocal(member) }
            return lists.contains(member.name)
                && member.value.array?.allSatisfy { $0.string != nil } == true
        }
    }

    /// In a Live Activity's alert, title and body may be keys of the app's localised texts.
    private static func isLocal(_ member: JSONObject.Member) -> Bool {
        ["title", "body"].contains(member.name) && member.value.object?["loc-key"]?.string != nil
    }

    private static func isSound(_ value: JSONValue) -> Bool {
        guard let members = value.object?.members, !members.isEmpty else { return false }
        return members.allSatisfy { member in
            switch member.name {
            case "critical": member.value == 0 || member.value == 1
            case "name": member.value.string != nil
            case "volume": (0...1).contains(number(member.value) ?? -1)
            default: false
            }
        }
    }
}
