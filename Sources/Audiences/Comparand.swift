/// A value that conditions compare.
protocol Comparand: Equatable, Sendable {
    /// Whether this value of a user is the one that a condition states.
    func fits(_ stated: Self) -> Bool
    func isLess(than other: Self) -> Bool
}

/// A condition on a value that a user may have.
enum Comparison<Value: Comparand>: Equatable, Sendable {
    case equals(Value)
    case differs(Value)
    case exceeds(Value)
    case isBelow(Value)
    case isOneOf([Value])
    case exists
    case isMissing

    /// - Parameter value: the user's; `nil` if the user has none.
    func holds(for value: Value?) -> Bool {
        switch self {
        case .equals(let stated): value?.fits(stated) ?? false
        case .differs(let stated): !(value?.fits(stated) ?? false)
        case .exceeds(let stated): value.map { stated.isLess(than: $0) } ?? false
        case .isBelow(let stated): value?.isLess(than: stated) ?? false
        case .isOneOf(let list): value.map { value in list.contains { value.fits($0) } } ?? false
        case .exists: value != nil
        case .isMissing: value == nil
        }
    }
}
