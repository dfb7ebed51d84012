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

    /// Reads a link of either form. Everything else is nil: another scheme, another host, another port, a name
    /// or a password, a path with more or less in it, and a number that is not plain digits. A query and a
    /// fragment are ignored, and so is one slash at the end.
    ///
    /// - Parameter site: whose web links count: scheme, host, port and the path before `/game` have to be the
    ///   same. `ogs:` links always count.
    public init?(_ url: URL, on site: URL = site) {
        guard let origin = url.origin else { return nil }
        let above: [Substring]
        switch origin {
        case "ogs://game": above = []
        case site.webOrigin: above = Array(Self.games(on: site).pathParts.dropFirst())
        default: return nil
        }
        var path = url.pathParts
        if path.first?.isEmpty == true { path.removeFirst() }
        if path.last?.isEmpty == true { path.removeLast() }
        // Digits only: `Int64` would take a sign, and other parsers other digits.
        guard let digits = path.popLast(), path == above, !digits.isEmpty,
            digits.utf8.allSatisfy({ (48...57).contains($0) }), let game = Int64(digits)
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
        Self.games(on: site).appendingPathComponent("\(game)")
    }

    private static func games(on site: URL) -> URL { site.appendingPathComponent("game") }
}

extension URL {
    /// Scheme and authority as they are written, in lower case and without the scheme's own port. Nil if the URL
    /// has none, or names a user.
    fileprivate var origin: String? {
        let text = absoluteString
        guard let scheme = scheme?.lowercased(), text.dropFirst(scheme.utf8.count).hasPrefix("://")
        else { return nil }
        var authority = text.dropFirst(scheme.utf8.count + 3).prefix { !"/?#".contains($0) }
            .lowercased()
        if let port = ["https": ":443", "http": ":80"][scheme], authority.hasSuffix(port) {
            authority.removeLast(port.utf8.count)
        }
        guard !authority.isEmpty, !authority.contains("@") else { return nil }
        return "\(scheme)://\(authority)"
    }

    /// The same of a site in the web, and nil of others.
    fileprivate var webOrigin: String? {
        ["https", "http"].contains(scheme?.lowercased()) ? origin : nil
    }

    /// What is between the slashes of the path, percent-encoded.
    fileprivate var pathParts: [Substring] {
        guard let parts = URLComponents(url: self, resolvingAgainstBaseURL: true) else { return [] }
        return parts.percentEncodedPath.split(separator: "/", omittingEmptySubsequences: false)
    }

    /// Whether it is a page of `site`, which is in the web: scheme, host and port are the same, and the path begins
    /// with the site's. A part of the path that a server or a browser might read as several, or as the way up, makes
    /// it none.
    func isAt(_ site: URL) -> Bool {
        guard let webOrigin, webOrigin == site.webOrigin else { return false }
        var above = site.pathParts
        if above.last?.isEmpty == true { above.removeLast() }
        let path = pathParts
        return path.starts(with: above)
            && path.allSatisfy { part in
                guard let text = part.removingPercentEncoding else { return false }
                // Bytes: a slash and an accent that follows it are one character.
                return text != ".." && !text.utf8.contains { [0x2f, 0x5c].contains($0) }
            }
    }
}
