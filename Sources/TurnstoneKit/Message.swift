import Foundation

/// A message that a backend pushes.
public struct Message: Sendable {
    public var title: String?
    public var body: String?
    /// What the app finds beside `aps`: ``PushNotification``.
    public var data: [String: JSONValue]
    /// The kind by which users turn it off; `message` if nil.
    public var kind: String?
    /// What it is about. On each device it replaces older messages with the same subject.
    public var subject: String?
    /// It is not sent before this moment, at most 30 days ahead.
    public var sendAfter: Date?
    /// Further members of the request, such as `badge`, `sound`, `collapse_id` or `apns`.
    public var others: [String: JSONValue]

    public init(
        title: String? = nil, body: String? = nil, data: [String: JSONValue] = [:],
        kind: String? = nil, subject: String? = nil, sendAfter: Date? = nil,
        others: [String: JSONValue] = [:]
    ) {
        self.title = title
        self.body = body
        self.data = data
        self.kind = kind
        self.subject = subject
        self.sendAfter = sendAfter
        self.others = others
    }

    var members: [String: JSONValue] {
        var members = others
        members["title"] = title.map { .string($0) } ?? members["title"]
        members["body"] = body.map { .string($0) } ?? members["body"]
        if !data.isEmpty { members["data"] = .object(data) }
        members["kind"] = kind.map { .string($0) } ?? members["kind"]
        members["subject"] = subject.map { .string($0) } ?? members["subject"]
        if let sendAfter { members["send_after"] = .double(sendAfter.timeIntervalSince1970) }
        return members
    }
}

/// The acceptance of a message: it is stored and will be sent.
public struct AcceptedMessage: Decodable, Hashable, Sendable, Identifiable {
    /// The id of its report.
    public let id: String
    /// How many devices it goes to, now or later.
    public let devices: Int
    /// How many devices do not get it, because the installation does not reach them or they cannot show it.
    public let skipped: Int
    /// The users whose documents were busy: send it to them again.
    public let later: [String]
    /// The users whose documents are damaged.
    public let failed: [String]

    private enum CodingKeys: String, CodingKey { case id, devices, skipped, later, failed }

    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        id = try container.decode(String.self, forKey: .id)
        devices = try container.decode(Int.self, forKey: .devices)
        skipped = try container.decodeIfPresent(Int.self, forKey: .skipped) ?? 0
        later = try container.decodeIfPresent([String].self, forKey: .later) ?? []
        failed = try container.decodeIfPresent([String].self, forKey: .failed) ?? []
    }
}

/// The fate of a message, device by device.
public struct MessageReport: Decodable, Hashable, Sendable, Identifiable {
    public struct Device: Decodable, Hashable, Sendable {
        /// As in the list of the user's devices.
        public let id: String
        public let user: String?
        public let state: Outcome
        public let attempts: Int
        /// When the last attempt was made, or the outcome decided.
        public let at: Date?
        /// The push service's HTTP status.
        public let status: Int?
        /// The push service's reason, or the installation's.
        public let reason: String?
        public let language: String?
        /// Whether the answer to an attempt was lost, so that it may have arrived.
        public var mayHaveArrived: Bool { isInDoubt ?? false }
        private let isInDoubt: Bool?

        private enum CodingKeys: String, CodingKey {
            case id, user, state, attempts, at, status, reason, language
            case isInDoubt = "mayHaveArrived"
        }
    }

    public let id: String
    /// `waiting`, `sending`, `cancelling`, `cancelled`, `done` or `damaged`.
    public let state: String
    public let kind: String
    public let acceptedAt: Date
    public let sendAfter: Date?
    /// `timezone` or `last-active`, if each user gets it at a moment of the user's own.
    public let delayedOption: String?
    /// That moment on the user's clock, such as `09:00`.
    public let deliveryTimeOfDay: String?
    /// How many pushes leave in a minute at most, if there is a limit.
    public let throttlePerMinute: Int?
    /// How many devices have each outcome, wait or are skipped.
    public let counts: [String: Int]
    /// The users whose documents were busy when it was accepted: they do not get it.
    public var later: [String] { busy ?? [] }
    private let busy: [String]?
    /// The users whose documents are damaged.
    public var failed: [String] { damaged ?? [] }
    private let damaged: [String]?
    /// At most 10,000. The others are only counted.
    public let devices: [Device]
    /// How many are not listed.
    public var omitted: Int { unlisted ?? 0 }
    private let unlisted: Int?

    private enum CodingKeys: String, CodingKey {
        case id, state, kind, acceptedAt, sendAfter, delayedOption, deliveryTimeOfDay
        case throttlePerMinute, counts, devices
        case busy = "later"
        case damaged = "failed"
        case unlisted = "omitted"
    }
}
