import Crypto
import Turnstone

extension Request {
    /// Refuses callers other than the app's own backend, which sends `Authorization: Key …`.
    ///
    /// `TURNSTONE_SERVER_KEY` may hold several keys, separated by commas, while one replaces another.
    ///
    /// - Throws: unauthenticated without the right key; misconfigured if no key is set.
    @export(interface)
    package func requireServerKey() throws(Failure) {
        let keys = try knownServerKeys()
        guard let sent = try authorization("key") else {
            throw .refused(
                .unidentified(by: serverKeyChallenge),
                headers["authorization"] == nil
                    ? "Access denied: the header Authorization with the scheme Key is missing"
                    : "Access denied: the scheme of the header Authorization must be Key")
        }
        try check(sent, against: keys)
    }

    /// The same for OneSignal's clients, which also send the key alone, or after `Basic` as it is, without
    /// base64.
    @export(interface)
    package func requireServerKeyInAnyForm() throws(Failure) {
        let keys = try knownServerKeys()
        let header = try headers.credential("authorization") ?? ""
        for scheme in ["key", "basic"] {
            if let sent = try authorization(scheme) { return try check(sent, against: keys) }
        }
        try check(trimmed(header), against: keys)
    }

    private func knownServerKeys() throws(Failure) -> [String] {
        let keys = try variables.serverKeys()
        guard !keys.isEmpty else {
            throw variables.wrong(
                "TURNSTONE_SERVER_KEY",
                "every caller is refused. Set it to a key, for example from: openssl rand -hex 32")
        }
        return keys
    }

    private func check(_ sent: String, against keys: [String]) throws(Failure) {
        // Compare with every key, so that the time does not reveal which one matched.
        let fitting = keys.count { isEqualInConstantTime($0, sent) }
        guard fitting > 0 else {
            throw .refused(
                .unidentified(by: serverKeyChallenge), "Access denied: unknown server key")
        }
    }

    /// Whether the caller sends a server key, on a route that anyone may call.
    ///
    /// - Throws: unauthenticated if the key is wrong.
    @export(interface)
    package func hasServerKey() throws(Failure) -> Bool {
        guard try usesServerKeyScheme(), variables.text("TURNSTONE_SERVER_KEY") != nil else {
            return false
        }
        try requireServerKey()
        return true
    }

    /// Whether the request has an `Authorization: Key …` header, for routes that others may call as well.
    /// Does not check the key.
    package func usesServerKeyScheme() throws(Failure) -> Bool { try authorization("key") != nil }

    /// The credentials after the scheme's name in the header `Authorization` (RFC 9110 section 11.6.2).
    ///
    /// - Parameter scheme: in lower case.
    /// - Returns: `nil` if the header is missing or has another scheme.
    package func authorization(_ scheme: String) throws(Failure) -> String? {
        guard let header = try headers.credential("authorization") else { return nil }
        let text = trimmed(header)
        let name = text.utf8.prefix { $0 != 32 }
        guard lowercased(String(decoding: Array(name), as: UTF8.self)) == scheme else { return nil }
        return trimmed(String(decoding: Array(text.utf8.dropFirst(name.count)), as: UTF8.self))
    }
}

extension Variables {
    /// The keys in `TURNSTONE_SERVER_KEY`; none if it is not set.
    ///
    /// - Throws: misconfigured if a key has less than 32 bytes.
    @export(interface)
    package func serverKeys() throws(Failure) -> [String] {
        let name = "TURNSTONE_SERVER_KEY"
        let keys = (text(name) ?? "").utf8.split(separator: UInt8(ascii: ","))
            .map { trimmed(String(decoding: Array($0), as: UTF8.self)) }.filter { !$0.isEmpty }
        guard keys.allSatisfy({ $0.utf8.count >= 32 }) else {
            throw wrong(
                name,
                "each key must have at least 32 bytes. Run: openssl rand -hex 32"
            )
        }
        return keys
    }
}

private let serverKeyChallenge = "Key realm=\"turnstone\""
