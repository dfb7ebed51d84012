import Edge
import JWT
import Turnstone

extension Request {
    /// The user who calls, by a JSON Web Token: in the header `Authorization: Bearer …`, or else in the cookie that
    /// `JWT_COOKIE` names.
    ///
    /// A browser sends a cookie along with whatever request any page makes. So what changes anything is done by
    /// cookie only for a page of our own origin.
    ///
    /// - Throws: unauthenticated without a token that is to be believed now, forbidden for another site's page.
    package func user() throws(Failure) -> UserID {
        let settings = try JWTSettings(variables)
        if let token = try authorization("bearer") { return try user(token, settings) }
        guard let token = try headers.cookie(settings.cookie) else {
            throw .refused(.unidentified(by: challenge), "Access denied")
        }
        let user = try user(token, settings)
        guard !changesAnything || isFromOwnOrigin else {
            throw .refused(.forbidden, "this request comes from another site")
        }
        return user
    }

    private func user(_ token: String, _ settings: JWTSettings) throws(Failure) -> UserID {
        guard let user = WebToken(token)?.user(settings, at: time) else {
            // RFC 6750 section 3.1.
            throw .refused(
                .unidentified(by: challenge + ", error=\"invalid_token\""), "Access denied")
        }
        return user
    }

    private var changesAnything: Bool { method != "GET" && method != "HEAD" }

    /// By what the browser says of where the request comes from (Fetch Metadata, section 2.1), or, if it does
    /// not, by the page's origin (RFC 6454): its scheme is not compared, since the host in front ends TLS.
    private var isFromOwnOrigin: Bool {
        if let site = headers["sec-fetch-site"] { return site == "same-origin" }
        guard let origin = headers["origin"], let host = headers["host"], !host.isEmpty else {
            return false
        }
        return origin == "https://\(host)" || origin == "http://\(host)"
    }
}

private let challenge = "Bearer realm=\"turnstone\""

extension Headers {
    /// The value of a cookie (RFC 6265 section 4.2.1).
    ///
    /// - Throws: a refusal where it comes twice: another site under the same domain may have set one of them.
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
