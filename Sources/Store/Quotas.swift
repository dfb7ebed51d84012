import Turnstone

/// How much one user may register. Every registration costs all other users time and space.
package struct Quotas: Equatable, Sendable {
    /// `DEVICES_PER_USER`.
    package let devices: Int
    /// `ACTIVITIES_PER_USER`: tokens that update Live Activities, and tokens that start them.
    package let activities: Int
    /// `LISTENERS_PER_SESSION`: users with a Live Activity of the same session.
    package let listeners: Int
    /// `KEYS_PER_USER`: working API keys.
    package let keys: Int

    init(_ variables: Variables) throws(Failure) {
        let range = 1...1_000_000
        devices = try variables.number("DEVICES_PER_USER", standard: 50, in: range)
        activities = try variables.number("ACTIVITIES_PER_USER", standard: 20, in: range)
        listeners = try variables.number("LISTENERS_PER_SESSION", standard: 20_000, in: range)
        keys = try variables.number("KEYS_PER_USER", standard: 20, in: range)
    }
}

extension State {
    package func quotas() throws(Failure) -> Quotas { try Quotas(variables) }
}
