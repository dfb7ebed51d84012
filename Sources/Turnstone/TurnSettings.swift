/// The configuration of turns and their notices.
package struct TurnSettings: Equatable, Sendable {
    /// `NOTIFY_LIVE_GAMES`: whether blitz, rapid and live games count too.
    package let includingLive: Bool
    /// `OGS_WEB_URL`: the site that links lead to.
    package let site: SiteAddress
    /// `ENVIRONMENT`: put before the text.
    package let environment: String?
    /// `TURN_TEXTS`: the folder with the notices' texts in several languages.
    package let textsFolder: String
    /// Whether the configuration names that folder, so that it must be there.
    package let isTextsFolderNamed: Bool

    /// Where an installation has the texts.
    package static let standardTextsFolder = "/usr/share/turnstone/texts"

    package init(_ variables: Variables) throws(Failure) {
        includingLive = try variables.flag("NOTIFY_LIVE_GAMES", standard: false)
        site = try variables.ogsWebAddress()
        environment = variables.text("ENVIRONMENT")
        let folder = try variables.path("TURN_TEXTS")
        guard folder.map({ $0.utf8.first == UInt8(ascii: "/") }) ?? true else {
            throw variables.wrong(
                "TURN_TEXTS", "must be an absolute path, such as \(Self.standardTextsFolder)")
        }
        textsFolder = folder ?? Self.standardTextsFolder
        isTextsFolderNamed = folder != nil
    }
}
