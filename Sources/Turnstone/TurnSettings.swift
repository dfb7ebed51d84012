/// The configuration of turns and their notices.
package struct TurnSettings: Equatable, Sendable {
    /// `NOTIFY_LIVE_GAMES`: whether blitz, rapid and live games count too.
    package let liveToo: Bool
    /// `OGS_WEB_URL`: where links lead.
    package let site: SiteAddress
    /// `ENVIRONMENT`: put before the text.
    package let environment: String?

    package init(_ variables: Variables) throws(Failure) {
        liveToo = try variables.flag("NOTIFY_LIVE_GAMES", standard: false)
        site = try variables.ogsWebAddress()
        environment = variables.text("ENVIRONMENT")
    }
}
