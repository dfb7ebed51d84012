/// The number of pushes that may be without an answer at the same time, on one connection.
///
/// A new connection allows one push until APNs has accepted our token, and then as many as the server
/// announces. Refused streams and runs of errors halve the window. Otherwise APNs would lower its own limit,
/// and finally close the connection.
struct SendingWindow: Equatable {
    /// A larger window would only need more memory, because answers arrive within milliseconds.
    static let maximum = 1000
    /// The number of errors in a row that halves the window.
    static let errorRun = 5

    private var limit = 1
    private var errors = 0
    /// Whether APNs has accepted our token on this connection.
    private(set) var isProven = false

    /// - Parameter server: the server's limit; 0 until it has announced one.
    func size(server: Int) -> Int {
        isProven ? max(1, min(limit, server)) : 1
    }

    mutating func adapt(to outcome: APNsOutcome) {
        switch outcome {
        case .accepted, .gone:
            errors = 0
            if isProven {
                limit = min(Self.maximum, limit + 1)
            } else {
                isProven = true
                limit = Self.maximum
            }
        case .refused, .quarantined, .later, .laterAsAsked:
            errors += 1
            if errors.isMultiple(of: Self.errorRun) { shrink() }
        case .stopQueue, .renewToken, .noVerdict, .notSent: break
        }
    }

    mutating func shrink() {
        limit = max(1, limit / 2)
    }
}
