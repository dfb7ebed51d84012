import Edge
import Turnstone

/// A value in a request: absent, to be removed (`null`), or new.
enum Setting<Value: Equatable>: Equatable {
    case kept
    case removed
    case set(Value)

    func apply(to value: inout Value?) {
        switch self {
        case .kept: break
        case .removed: value = nil
        case .set(let new): value = new
        }
    }
}

extension Fields {
    /// Reads a member that may be `null`.
    ///
    /// - Parameter value: makes the value of the member's text, if it is an acceptable one.
    mutating func setting<Value>(
        _ name: String, else sentence: String, _ value: (String) throws(Failure) -> Value?
    ) throws(Failure) -> Setting<Value> {
        if rest[name] == .null {
            _ = take(name)
            return .removed
        }
        guard let text = try text(name) else { return .kept }
        guard let value = try value(text) else {
            throw .unacceptable("\(path(of: name)) must be \(sentence)")
        }
        return .set(value)
    }

    /// Reads a member with a text of 1 to 128 bytes that may be `null`.
    mutating func textSetting(_ name: String) throws(Failure) -> Setting<String> {
        try setting(name, else: "1 to 128 bytes without NUL") { (text) throws(Failure) in
            Alias.isPart(text) ? text : nil
        }
    }

    /// Reads `true`, `false` or `null`.
    mutating func booleanSetting(_ name: String) throws(Failure) -> Setting<Bool> {
        if rest[name] == .null {
            _ = take(name)
            return .removed
        }
        return try boolean(name).map { .set($0) } ?? .kept
    }

    /// Reads a member with a moment in RFC 3339 that may be `null`.
    mutating func momentSetting(_ name: String) throws(Failure) -> Setting<Timestamp> {
        try setting(name, else: "a moment that exists, in UTC, such as 2026-11-22T07:00:00Z") {
            (text) throws(Failure) in Timestamp(text)
        }
    }
}
