import Foundation

/// A page of what became of a user's notifications, newest first.
public struct NotificationHistory: Decodable, Hashable, Sendable {
    /// What became of one notification on one device.
    public struct Entry: Decodable, Hashable, Sendable {
        /// The notification's id: its entries for several devices have the same.
        public let id: String
        public let at: Date
        /// `turn`, `test`, `badge`, `turn_badge`, `activity` or the kind of a message. Nil if it is not known
        /// any more.
        public let kind: String?
        /// `ios`, `android` or `web`.
        public let platform: String
        /// The id of the user's device. Nil if the user no longer has it, or if several fit.
        public let device: String?
        public let deviceName: String?
        public let outcome: Outcome
        /// Why, as the push service or the delivery names it.
        public let reason: String?
        /// Why, as an English sentence.
        public let explanation: String
        /// The push service's HTTP status, if it answered.
        public let status: Int?
        /// Whether the answer to an attempt was lost.
        public var mayHaveArrived: Bool { isInDoubt ?? false }
        private let isInDoubt: Bool?

        private enum CodingKeys: String, CodingKey {
            case id, at, kind, platform, device, deviceName, outcome, reason, explanation, status
            case isInDoubt = "mayHaveArrived"
        }
    }

    public let notifications: [Entry]
    /// The place where the next page begins. Nil after the oldest entry.
    public let next: String?
    /// Whether the page is short because the installation had no more time. Ask again with `next`.
    public let stopped: Bool
    /// Whether entries are missing, because the installation cannot read some of its receipts now.
    public var isIncomplete: Bool { incomplete ?? false }
    private let incomplete: Bool?
}

/// A notification that was sent to try it out.
public struct SentTest: Decodable, Hashable, Sendable {
    /// Its id in the ``NotificationHistory``.
    public let id: String
    /// How many devices it goes to.
    public let devices: Int
}

extension Connection {
    func notifications(after place: String?, limit: Int) async throws(TurnstoneError)
        -> NotificationHistory
    {
        let after =
            try place.map { (place) throws(TurnstoneError) in "&after=\(try Self.encoded(place))" }
            ?? ""
        return try await value("GET", "api/notifications?limit=\(limit)\(after)")
    }

    func sendTest(to device: String?, language: String?) async throws(TurnstoneError) -> SentTest {
        var body: [String: JSONValue] = [:]
        body["device"] = device.map { .string($0) }
        body["language"] = language.map { .string($0) }
        return try await value("POST", "api/notifications/test", body: body)
    }
}
