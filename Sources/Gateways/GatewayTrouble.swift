import Turnstone

/// The reason why nothing can be pushed now, and the time of the next attempt.
package struct GatewayTrouble: Equatable, Sendable {
    package let reason: String
    package let until: Instant

    package init(reason: String, until: Instant) {
        self.reason = reason
        self.until = until
    }
}
