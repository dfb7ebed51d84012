import Turnstone

/// One condition of a ``Filter``.
enum Condition: Equatable, Sendable {
    case tag(String, Comparison<TagValue>)
    case language(Comparison<LanguageTag>)
    case country(Comparison<CountryCode>)
    case platform(Comparison<Platform>)
    case appVersion(Comparison<AppVersion>)
    /// How long ago the first or the last session was.
    case session(isFirst: Bool, Comparison<Interval>)
    case sessionCount(Comparison<Int64>)

    /// Whether it may begin or cease to hold while nothing about the user changes.
    var dependsOnTime: Bool {
        if case .session = self { true } else { false }
    }

    /// The tag that a user must have for it to hold, and the text that is its only possible value; `nil` if
    /// it may hold without.
    var necessaryTag: (name: String, text: String?)? {
        guard case .tag(let name, let comparison) = self else { return nil }
        switch comparison {
        case .equals(let value): return (name, value.onlyText)
        case .exceeds, .isBelow, .isOneOf, .exists: return (name, nil)
        case .differs, .isMissing: return nil
        }
    }

    func holds(for facts: Facts, at now: Timestamp) -> Bool {
        let profile = facts.profile
        switch self {
        case .tag(let name, let comparison):
            let value = profile.tags.members.first { $0.name.utf8.elementsEqual(name.utf8) }?.value
            return comparison.holds(for: value.flatMap { TagValue($0) })
        case .language(let comparison): return comparison.holds(for: profile.language)
        case .country(let comparison): return comparison.holds(for: profile.country)
        case .platform(let comparison): return comparison.holds(for: facts.platform)
        case .appVersion(let comparison):
            return comparison.holds(for: facts.appVersion.map { AppVersion($0) })
        case .session(let isFirst, let comparison):
            let moment = isFirst ? profile.firstSession : profile.lastSession
            return comparison.holds(for: moment.map { now - $0 })
        case .sessionCount(let comparison): return comparison.holds(for: profile.sessionCount)
        }
    }
}

extension LanguageTag: Comparand {
    /// `pt` also means `pt-BR`.
    func fits(_ stated: LanguageTag) -> Bool { isWithin(stated) }
    func isLess(than other: LanguageTag) -> Bool { false }
}

extension CountryCode: Comparand {
    func fits(_ stated: CountryCode) -> Bool { self == stated }
    func isLess(than other: CountryCode) -> Bool { false }
}

extension Platform: Comparand {
    func fits(_ stated: Platform) -> Bool { self == stated }
    func isLess(than other: Platform) -> Bool { false }
}

extension Interval: Comparand {
    func fits(_ stated: Interval) -> Bool { self == stated }
    func isLess(than other: Interval) -> Bool { self < other }
}

extension Int64: Comparand {
    func fits(_ stated: Int64) -> Bool { self == stated }
    func isLess(than other: Int64) -> Bool { self < other }
}
