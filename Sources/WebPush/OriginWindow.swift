import Turnstone

/// The number of messages that may wait for an answer at the same time, at one push service. Those whose
/// answers are overdue are not counted.
///
/// The first message is sent alone: libcurl would open too many streams before it knows the server's limit
/// and could not tell us that limit. Afterwards each accepted message makes room for another, and refusals
/// to five users in a row halve the window.
struct OriginWindow: Equatable {
    /// libcurl keeps to the server's own limit, which is usually 100.
    static let multiplexed = 100
    /// Connections to a server that only knows HTTP/1.1.
    static let connections = 4

    private(set) var size = 1
    /// The size that it never exceeds.
    private(set) var limit = Self.connections
    /// The users whose messages failed since the last one that did not.
    private var failing: Set<UserID?> = []

    /// How many of them one recipient may have: those of a browser that never answers leave room for others.
    /// Over HTTP/1.1 there is a connection for each, and messages would overtake each other.
    var share: Int { limit > Self.connections ? max(1, size / 2) : 1 }

    mutating func adapt(
        to outcome: WebPushOutcome, of recipient: PushRecipient, isMultiplexed: Bool
    ) {
        limit = isMultiplexed ? Self.multiplexed : Self.connections
        switch outcome {
        case .accepted, .gone:
            failing = []
            size = min(size + 1, limit)
        case .refused, .unusable, .later, .laterAsAsked, .originPaused:
            if isNews(recipient), failing.count.isMultiple(of: 5) { halve() }
            size = min(size, limit)
        case .noVerdict, .notSent: break
        }
    }

    /// Makes the window smaller because a message got no answer.
    mutating func shrink(becauseOf recipient: PushRecipient) {
        if isNews(recipient) { halve() }
    }

    private mutating func isNews(_ recipient: PushRecipient) -> Bool {
        if failing.count >= 1000 { failing = [] }
        return failing.insert(recipient.user).inserted
    }

    private mutating func halve() { size = max(1, size / 2) }
}
