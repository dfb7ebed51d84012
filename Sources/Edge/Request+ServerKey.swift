import Crypto
import Turnstone

extension Request {
    /// Lets the app's own backend pass, which says `Authorization: Key …`, and nobody else.
    ///
    /// `TURNSTONE_SERVER_KEY` may hold several keys, parted by commas, while one takes the place of another.
    ///
    /// - Throws: unauthenticated without the right key; misconfigured where no key is set, so that nobody passes.
    package func requireServerKey() throws(Failure) {
        let keys = try variables.serverKeys()
        guard !keys.isEmpty else {
            throw variables.wrong("TURNSTONE_SERVER_KEY", "is not set, so nobody may send")
        }
        guard let sent = try authorization("key") else {
            throw .refused(.unidentified(by: serverKeyChallenge), "Access denied")
        }
        // Each is compared, so that the time does not tell which one was nearly right.
        let fitting = keys.count { isEqualInConstantTime($0, sent) }
        guard fitting > 0 else {
            throw .refused(.unidentified(by: serverKeyChallenge), "Access denied")
        }
    }

    /// Whether the caller shows a server key, on a route that anyone may call.
    ///
    /// - Throws: unauthenticated where it is not one of ours.
    package func showsServerKey() throws(Failure) -> Bool {
        guard try namesServerKey(), variables.text("TURNSTONE_SERVER_KEY") != nil else {
            return false
        }
        try requireServerKey()
        return true
    }

    /// Whether the caller says to be the app's own backend, for routes that others may call as well.
    package func namesServerKey() throws(Failure) -> Bool { try authorization("key") != nil }

    /// What the header `Authorization` says after a scheme's name (RFC 9110 section 11.6.2).
    ///
    /// - Parameter scheme: in small letters.
    /// - Returns: `nil` where the header is missing or has another scheme.
    package func authorization(_ scheme: String) throws(Failure) -> String? {
        guard let header = try headers.credential("authorization") else { return nil }
        let text = trimmed(header)
        let name = text.utf8.prefix { $0 != 32 }
        guard lowercased(String(decoding: Array(name), as: UTF8.self)) == scheme else { return nil }
        return trimmed(String(decoding: Array(text.utf8.dropFirst(name.count)), as: UTF8.self))
    }
}

extension Variables {
    /// The keys in `TURNSTONE_SERVER_KEY`; none where it is not set.
    ///
    /// - Throws: misconfigured where one has less than 32 bytes.
    package func serverKeys() throws(Failure) -> [String] {
        let name = "TURNSTONE_SERVER_KEY"
        let keys = (text(name) ?? "").utf8.split(separator: UInt8(ascii: ","))
            .map { trimmed(String(decoding: Array($0), as: UTF8.self)) }.filter { !$0.isEmpty }
        guard keys.allSatisfy({ $0.utf8.count >= 32 }) else {
            throw wrong(
                name,
                "must have keys of at least 32 bytes; openssl rand -hex 32 makes one that nobody guesses"
            )
        }
        return keys
    }
}

private let serverKeyChallenge = "Key realm=\"turnstone\""
