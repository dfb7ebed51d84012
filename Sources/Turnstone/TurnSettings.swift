/// What the configuration says of turns and of the notices that tell of them.
package struct TurnSettings: Equatable, Sendable {
    /// `NOTIFY_LIVE_GAMES`: whether blitz, rapid and live games count, too.
    package let liveToo: Bool
    /// `ENVIRONMENT`: what is put before the text.
    package let environment: String?

    package init(_ variables: Variables) throws(Failure) {
        liveToo = try variables.flag("NOTIFY_LIVE_GAMES", standard: false)
        environment = variables.text("ENVIRONMENT")
    }
}
