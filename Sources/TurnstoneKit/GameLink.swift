import Foundation

/// A game on Online-Go.com, as links name it: `ogs://game/79504463` and
/// `https://online-go.com/game/79504463`.
public struct GameLink: Hashable, Sendable {
    /// The game's number, above 0.
    public let game: Int64

    /// Online-Go.com itself.
    public static let site = URL(string: "https://online-go.com")!

    public init?(game: Int64) {
        guard game > 0 else { return nil }
        self.game = game
    }

    /// Reads a link of either form. Everything else is nil: another scheme, another host, a port, a name or a
    /// password, a path with more or less in it, and a number that is not plain digits. A query and a
    /// fragment are ignored, and so is one slash at the end.
    ///
    /// - Parameter site: whose web links count: scheme, host and port have to be the same. `ogs:` links
    ///   always count.
    public init?(_ url: URL, on site: URL = site) {
        guard let parts = URLComponents(url: url, resolvingAgainstBaseURL: true),
            let scheme = parts.scheme?.lowercased(), let host = parts.host?.lowercased(),
            parts.user == nil, parts.password == nil
        else { return nil }
        var path = parts.percentEncodedPath.split(separator: "/", omittingEmptySubsequences: false)
        if path.first?.isEmpty == true { path.removeFirst() }
        if path.last?.isEmpty == true { path.removeLast() }
        switch (scheme, path.count) {
        case ("ogs", 1):
            guard host == "game", parts.port == nil else { return nil }
        case (_, 2):
            guard path.first == "game", url.isAt(site) else { return nil }
        default: return nil
        }
        // Digits only: `Int64` would take a sign, and other parsers other digits.
        guard let digits = path.last, !digits.isEmpty,
            digits.utf8.allSatisfy({ (48...57).contains($0) }),
            let game = Int64(digits)
        else { return nil }
        self.init(game: game)
    }

    /// The same for a text, such as the `app_url` of a push.
    public init?(_ text: String, on site: URL = site) {
        guard let url = URL(string: text) else { return nil }
        self.init(url, on: site)
    }

    /// `ogs://game/79504463`
    public var appURL: URL { URL(string: "ogs://game/\(game)")! }

    /// `https://online-go.com/game/79504463`, or the same game on another site.
    public func webURL(on site: URL = site) -> URL {
        site.appendingPathComponent("game").appendingPathComponent("\(game)")
    }
}

extension URL {
    /// Whether scheme, host and port are those of `site`, which has to be https, or http on this machine.
    func isAt(_ site: URL) -> Bool {
        guard let scheme = scheme?.lowercased(), let host = host?.lowercased() else { return false }
        let isLocal = ["localhost", "127.0.0.1"].contains(host)
        return (scheme == "https" || scheme == "http" && isLocal)
            && scheme == site.scheme?.lowercased() && host == site.host?.lowercased()
            && port == site.port && user == nil && password == nil
    }
}
