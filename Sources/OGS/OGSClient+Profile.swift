import JSON
import Turnstone
import Unix

/// The answer to one request for a player's profile.
package enum ProfileOutcome: Equatable {
    case found(PlayerProfile)
    case unknownPlayer
    /// OGS asks for a pause: this long, if it says so.
    case backOff(Interval?)
    /// OGS gave no usable answer. The reason is a sentence without its full stop.
    case outage(String)
}

/// A player's public profile on OGS.
package struct PlayerProfile: Equatable {
    package let player: PlayerID
    package let name: String
    /// The text that only the player can write. Empty in the answer to a search by name.
    package let about: String
}

extension OGSClient {
    /// A client for profiles, whose answers are small.
    package init(profilesWith settings: Settings) throws(Failure) {
        try self.init(settings, bodyLimit: 1 << 20)
    }

    /// Finds a player by name: `GET /api/v1/players?username=`.
    ///
    /// A name in another case counts if only one player has it: OGS's answer may have several.
    package func player(named name: String, patience: Interval) throws(Failure) -> ProfileOutcome {
        let path = "/api/v1/players?username=\(percentEncoded(name))"
        return try outcome(of: path, patience) { (answer) in
            let found = (answer["results"]?.array ?? []).compactMap { $0.object.flatMap(profile) }
            if let same = found.first(where: { haveEqualBytes($0.name, name) }) {
                return same
            }
            let alike = found.filter {
                haveEqualBytes(lowercased($0.name), lowercased(name))
            }
            return alike.count == 1 ? alike[0] : nil
        }
    }

    /// Reads a player's profile: `GET /api/v1/players/{id}`.
    package func profile(of player: PlayerID, patience: Interval) throws(Failure) -> ProfileOutcome
    {
        try outcome(of: "/api/v1/players/\(player)", patience) { (answer) in
            profile(answer).flatMap { $0.player == player ? $0 : nil }
        }
    }

    private func profile(_ members: JSONObject) -> PlayerProfile? {
        guard let player = members["id"]?.integer.flatMap({ PlayerID(number: $0) }),
            let name = members["username"]?.string
        else { return nil }
        return PlayerProfile(player: player, name: name, about: members["about"]?.string ?? "")
    }

    private func outcome(
        of path: String, _ patience: Interval, read: (JSONObject) -> PlayerProfile?
    ) throws(Failure) -> ProfileOutcome {
        switch try get(path, patience: patience) {
        case .failed(let fault): return .outage(fault.sentence(at: base))
        case .answered(let answer):
            switch answer.status {
            case 200:
                var members: JSONObject?
                do throws(JSONError) { members = try JSON.parse(answer.body).object } catch {}
                guard let members else {
                    return .outage(
                        answer.isPage
                            ? "Online-Go.com answered with an HTML page at \(base). Check OGS_BASE_URL"
                            : "Online-Go.com gave no usable answer at \(base): it is not a profile")
                }
                return read(members).map { .found($0) } ?? .unknownPlayer
            case 404 where !answer.isPage: return .unknownPlayer
            case 429, 503: return .backOff(answer.retryAfter)
            default: return .outage("Online-Go.com answered \(answer.status) at \(base)")
            }
        }
    }
}

/// Everything but letters, digits, `-`, `.`, `_` and `~` as `%` and two hex digits (RFC 3986 section 2.3).
private func percentEncoded(_ text: String) -> String {
    var encoded = ""
    for byte in text.utf8 {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "-"), UInt8(ascii: "."),
            UInt8(ascii: "_"), UInt8(ascii: "~"):
            encoded.unicodeScalars.append(Unicode.Scalar(byte))
        default: encoded += "%\(hex([byte]))"
        }
    }
    return encoded
}
