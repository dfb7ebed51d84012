/// The fate of a notification on a device. A newer installation may know more of them than these.
public struct Outcome: RawRepresentable, Hashable, Sendable {
    public let rawValue: String

    public init(rawValue: String) { self.rawValue = rawValue }

    /// The push service took it.
    public static let accepted: Outcome = "accepted"
    /// It waits for its turn, or for another attempt.
    public static let waiting: Outcome = "waiting"
    /// It waits for the end of a mute or of quiet hours.
    public static let held: Outcome = "held"
    /// It was no longer true or wanted.
    public static let superseded: Outcome = "superseded"
    /// It could not be sent in time.
    public static let expired: Outcome = "expired"
    /// The push service refused it.
    public static let refused: Outcome = "refused"
    /// The device no longer takes notifications.
    public static let gone: Outcome = "gone"
    /// The push service does not know the device's token. The app should register again.
    public static let quarantined: Outcome = "quarantined"
    /// It was cancelled before it was sent.
    public static let cancelled: Outcome = "cancelled"
    /// The installation lost it.
    public static let damaged: Outcome = "damaged"
}

extension Outcome: ExpressibleByStringLiteral {
    public init(stringLiteral value: String) { rawValue = value }
}

extension Outcome: CustomStringConvertible {
    public var description: String { rawValue }
}

extension Outcome: Codable {
    public init(from decoder: any Decoder) throws {
        rawValue = try decoder.singleValueContainer().decode(String.self)
    }

    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(rawValue)
    }
}
