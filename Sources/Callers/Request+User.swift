import Edge
import JWT
import Turnstone

extension Request {
    /// The calling user, identified by a JSON Web Token in the header `Authorization: Bearer …` or in the
    /// cookie that `JWT_COOKIE` names.
    ///
    /// A browser adds cookies to requests from any page. So for changes, a cookie counts only if the request
    /// does not come from another site's page.
    ///
    /// - Throws: unauthenticated without a token that is valid now; forbidden if the page is another site's.
    @export(interface)
    package func user() throws(Failure) -> UserID {
        let settings = try JWTSettings(variables)
        if let token = try authorization("bearer") { return try user(token, settings) }
        guard let token = try headers.cookie(settings.cookie) else {
            throw .refused(.unidentified(by: challenge), "Access denied: no token")
        }
        let user = try user(token, settings)
        if changesAnything { try refuseOtherSites() }
        return user
    }

    private func user(_ text: String, _ settings: JWTSettings) throws(Failure) -> UserID {
        do throws(TokenFault) { return try WebToken(text).user(settings, at: time) } catch {
            // RFC 6750 section 3.1.
            throw .refused(
                .unidentified(by: challenge + ", error=\"invalid_token\""),
                "Access denied: \(error.sentence)")
        }
    }

    private var changesAnything: Bool { method != "GET" && method != "HEAD" }

    /// Refuses a request that may come from a page that must not use the user's cookie.
    ///
    /// Pages of our own origin and of those in `ALLOWED_ORIGINS` may use it. Browsers send `Sec-Fetch-Site`
    /// (Fetch Metadata, section 2.1) or `Origin` (RFC 6454) with every change. A request without both comes
    /// from an app or from a browser that knows neither. So it must be one that no browser sends to another
    /// origin without a preflight.
    private func refuseOtherSites() throws(Failure) {
        let origin = try headers.credential("origin")
        let site = try headers.credential("sec-fetch-site")
        if let origin, try AllowedOrigins(variables).contains(origin) { return }
        let isOurs = site.map { $0 == "same-origin" } ?? origin.map(isOwn)
        guard isOurs ?? true else {
            throw .refused(
                .forbidden,
                "this request comes from another site, whose origin is not in ALLOWED_ORIGINS")
        }
        guard isOurs != nil || method != "POST" || declaresJSON else {
            throw .refused(
                .forbidden, "a POST with a cookie must have Content-Type: application/json")
        }
    }

    /// The schemes are not compared, because the host in front of us terminates TLS.
    private func isOwn(_ origin: String) -> Bool {
        guard let host = headers["host"], !host.isEmpty else { return false }
        return origin == "https://\(host)" || origin == "http://\(host)"
    }
}

private let challenge = "Bearer realm=\"turnstone\""

extension Headers {
    /// The value of a cookie (RFC 6265 section 4.2.1).
    ///
    /// - Throws: a refusal if it occurs twice: another site under the same domain may have set one of them.
    fileprivate func cookie(_ name: String) throws(Failure) -> String? {
        guard let header = try credential("cookie") else { return nil }
        var found: [String] = []
        for pair in Array(header.utf8).split(separator: UInt8(ascii: ";")) {
            let pair = pair.drop { $0 == 32 || $0 == 9 }
            guard let equals = pair.firstIndex(of: UInt8(ascii: "=")),
                pair[..<equals].elementsEqual(name.utf8)
            else { continue }
            found.append(String(decoding: pair[(equals + 1)...], as: UTF8.self))
        }
        guard found.count <= 1 else {
            throw .malformed("the cookie \(name) may come only once")
        }
        return found.first
    }
}
