/// The number of messages that may be without an answer at the same time, at one push service.
///
/// The first message is sent alone: libcurl would open too many streams before it knows the server's limit
/// and could not tell us that limit. Afterwards each accepted message makes room for another, and refusals
/// halve the window.
struct OriginWindow: Equatable {
    /// libcurl keeps to the server's own limit, which is usually 100.
    static let multiplexed = 100
    /// Connections to a server that only knows HTTP/1.1.
    static let connections = 4

    private(set) var size = 1
    private var errors = 0

    mutating func adapt(to outcome: WebPushOutcome, isMultiplexed: Bool) {
        let most = isMultiplexed ? Self.multiplexed : Self.connections
        switch outcome {
        case .accepted, .gone:
            errors = 0
            size = min(size + 1, most)
        case .refused, .unusable, .later, .laterAsAsked, .originPaused:
            errors += 1
            if errors.isMultiple(of: 5) { shrink() }
            size = min(size, most)
        case .noVerdict, .notSent: break
        }
    }

    mutating func shrink() { size = max(1, size / 2) }
}
