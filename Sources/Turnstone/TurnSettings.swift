/// The configuration of turns and their notices.
package struct TurnSettings: Equatable, Sendable {
    /// `NOTIFY_LIVE_GAMES`: whether blitz, rapid and live games count too.
    package let includingLive: Bool
    /// `OGS_WEB_URL`: the site that links lead to.
    package let site: SiteAddress
    /// `ENVIRONMENT`: put before the text.
    package let environment: String?

    package init(_ variables: Variables) throws(Failure) {
        includingLive = try variables.flag("NOTIFY_LIVE_GAMES", standard: false)
        site = try variables.ogsWebAddress()
        environment = variables.text("ENVIRONMENT")
    }
}
