/// How many pushes may be without an answer at once, on one connection.
///
/// A fresh connection takes one until APNs has accepted our token. Then what the server announces counts,
/// but less after refusals and runs of errors, for which APNs would lower its own number and in the end close
/// the connection.
struct SendingWindow: Equatable {
    /// More would only need memory: answers come within milliseconds.
    static let most = 1000
    /// So many errors in a row are taken for a sign.
    static let run = 5

    private var own = 1
    private var errors = 0
    private(set) var isProven = false

    /// - Parameter server: what the server takes; 0 while it has not said.
    func size(server: Int) -> Int {
        isProven ? max(1, min(own, server)) : 1
    }

    mutating func adapt(to outcome: APNsOutcome) {
        switch outcome {
        case .accepted, .gone:
            errors = 0
            if isProven {
                own = min(Self.most, own + 1)
            } else {
                isProven = true
                own = Self.most
            }
        case .refused, .quarantined, .later, .laterAsAsked:
            errors += 1
            if errors.isMultiple(of: Self.run) { shrink() }
        case .stopQueue, .renewToken, .noVerdict, .notSent: break
        }
    }

    mutating func shrink() {
        own = max(1, own / 2)
    }
}
