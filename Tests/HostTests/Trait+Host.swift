import TestSupport
import Testing

/// Not Foundation's class of this name.
typealias Host = TestSupport.Host

extension Trait where Self == ConditionTrait {
    /// Skips a test, by its name, where its host cannot be tested.
    static func testable(_ host: Host) -> Self {
        .enabled(if: host.obstacle == nil, "\(host.obstacle ?? "")")
    }
}
