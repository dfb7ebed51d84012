import Crypto
import Documents
import Turnstone
import Unix

/// Proofs that a player of OGS wants a key.
///
/// A request for a code gets two texts: a code, which the player shows to everybody in the profile, and a
/// token, which only the caller has. The code is made from the token with a secret of this installation. So
/// somebody who reads a code in a profile cannot use it without its token, and a token without its code in
/// the profile proves nothing. Nothing is stored for a code until it has served: strangers may ask for as
/// many as they like.
package struct Signups {
    let state: State

    package struct Proof: Equatable {
        /// The code for the profile: `turnstone-` and 20 hex digits.
        package let code: String
        package let expires: Timestamp
        /// The API key that it gives: 64 hex digits, the same ones for each request with its token.
        package let key: String
        /// The proof's name among those that have served.
        fileprivate let id: String
    }

    /// How long a code can be used: long enough to edit a profile.
    package static let life = Interval.minutes(30)

    private static let prefix = "turnstone-"

    /// Makes a code for a name.
    ///
    /// - Returns: the token, and what it proves together with the profile.
    package func make(
        for name: String, at now: Timestamp
    ) throws(Failure) -> (token: String, proof: Proof) {
        let nonce = hex(try randomBytes(16))
        let issued = now
        let secret = try secret()
        let token = "\(issued.milliseconds).\(nonce).\(mac("token", issued, nonce, name, secret))"
        return (token, proof(issued, nonce, name, secret))
    }

    /// Checks a token.
    ///
    /// - Returns: `nil` unless it was made here for this name and has not expired. One that has served also
    ///   counts as long as its key works.
    package func proof(
        of token: String, for name: String, at now: Timestamp
    ) throws(Failure) -> Proof? {
        let parts = token.utf8.split(
            separator: UInt8(ascii: "."), maxSplits: 3, omittingEmptySubsequences: false
        ).map { String(decoding: Array($0), as: UTF8.self) }
        // A nonce with a blank in it could take a part of the name for its own.
        guard parts.count == 3, parts[1].utf8.count == 32,
            parts[1].utf8.allSatisfy({ hexValue($0) != nil }), let milliseconds = Int64(parts[0]),
            String(milliseconds) == parts[0],
            let secret = try storedSecret()
        else { return nil }
        let issued = Timestamp(milliseconds: milliseconds)
        guard isEqualInConstantTime(parts[2], mac("token", issued, parts[1], name, secret)) else {
            return nil
        }
        let proof = proof(issued, parts[1], name, secret)
        let isFromFuture = issued > now + .minutes(1)
        guard !isFromFuture, now < proof.expires else { return nil }
        guard try served(proof, in: document.read()?.content ?? [:]) else { return proof }
        return try state.keys.works(proof.key) ? proof : nil
    }

    private func proof(_ issued: Timestamp, _ nonce: String, _ name: String, _ secret: [UInt8])
        -> Proof
    {
        let code = Self.prefix + firstDigits(20, of: mac("code", issued, nonce, name, secret))
        return Proof(
            code: code, expires: issued + Self.life,
            // Only callers with the token know the nonce, and nobody outside knows the secret.
            key: mac("key", issued, nonce, name, secret),
            id: firstDigits(32, of: mac("id", issued, nonce, name, secret)))
    }

    private func mac(
        _ use: String, _ issued: Timestamp, _ nonce: String, _ name: String, _ secret: [UInt8]
    ) -> String {
        // The name comes last: it may contain anything.
        hex(hmacSHA256(Array("\(use) \(issued.milliseconds) \(nonce) \(name)".utf8), key: secret))
    }

    /// Whether a text shows a code. Every code in it is compared, in constant time.
    package static func shows(_ code: String, _ text: String) -> Bool {
        let length = code.utf8.count
        let bytes = Array(lowercased(text).utf8)
        let start = Array(prefix.utf8)
        var isShown = false
        var place = 0
        while place + length <= bytes.count {
            if bytes[place..<(place + start.count)].elementsEqual(start) {
                let found = Array(bytes[place..<(place + length)])
                if isEqualInConstantTime(found, Array(code.utf8)) { isShown = true }
            }
            place += 1
        }
        return isShown
    }

    // MARK: Used once

    /// Marks a proof as used, once its key was made: when that key ends, the proof makes no other one.
    ///
    /// - Returns: whether it was unused.
    package func use(_ proof: Proof, at now: Timestamp) throws(Failure) -> Bool {
        try document.update { document in
            guard !served(proof, in: document.content) else { return false }
            var list = (document.content["served"]?.array ?? []).filter {
                // A proof that has expired needs no mention. A day more, for a clock that is set back.
                ($0.object?["until"]?.timestamp ?? .latest) + .days(1) > now
            }
            list.append(["id": .string(proof.id), "until": JSONValue(proof.expires)])
            document.content["served"] = .array(list)
            return true
        }
    }

    private func served(_ proof: Proof, in content: JSONObject) -> Bool {
        (content["served"]?.array ?? []).contains { $0.object?["id"] == .string(proof.id) }
    }

    // MARK: The secret

    private var document: StoredDocument<Opaque> {
        let shelf = Shelf<DocumentName, Opaque>(folder: "\(state.folder)/credentials")
        return shelf[DocumentName(single: "signup")]
    }

    private func storedSecret() throws(Failure) -> [UInt8]? {
        try document.read()?.content["secret"]?.string.map { Array($0.utf8) }
    }

    private func secret() throws(Failure) -> [UInt8] {
        if let known = try storedSecret() { return known }
        return try document.update { (document) throws(Failure) in
            // Another process may have made it since.
            if let known = document.content["secret"]?.string { return Array(known.utf8) }
            let made = hex(try randomBytes(32))
            document.content["secret"] = .string(made)
            return Array(made.utf8)
        }
    }

    // MARK: Limits

    /// How often something may happen.
    package enum Limit {
        /// Codes for one address.
        case codes(address: String)
        /// Attempts to confirm by one address.
        case attempts(address: String)
        /// Attempts to confirm one name from one address.
        case attemptsOfOne(address: String, name: String)
        /// Attempts to confirm one name, wherever they come from.
        case attemptsOnName(String)
        /// Attempts of all callers: they must leave most requests to OGS to `check-turns`.
        case attemptsOfAll

        /// At once and in ten minutes.
        fileprivate var count: Int64 {
            switch self {
            case .codes: 30
            case .attempts: 15
            case .attemptsOfOne: 6
            case .attemptsOnName: 40
            case .attemptsOfAll: 100
            }
        }

        fileprivate var key: String {
            switch self {
            case .codes(let address): "code \(network(of: address))"
            case .attempts(let address): "attempt \(network(of: address))"
            case .attemptsOfOne(let address, let name):
                "one \(network(of: address)) \(lowercased(name))"
            case .attemptsOnName(let name): "name \(lowercased(name))"
            case .attemptsOfAll: "all"
            }
        }
    }

    /// Counts an event.
    ///
    /// - Throws: too many if there were more than allowed.
    package func count(_ limit: Limit) throws(Failure) {
        let window = Interval.minutes(10)
        let pause = try systemCalls { () throws(SystemError) in
            try state.count(
                limit.key, in: "signup.limit", distance: window.milliseconds * 1000 / limit.count,
                burst: window)
        }
        guard let pause else { return }
        throw .refused(
            .tooMany(seconds: Int(pause.seconds)),
            "too many attempts; try again in \(pause.seconds) s")
    }
}

extension State {
    package var signups: Signups { Signups(state: self) }
}
