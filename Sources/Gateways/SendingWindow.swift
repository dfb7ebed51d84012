/// The number of pushes that may be without an answer at the same time, on one connection.
///
/// A new connection allows one push until the server has accepted our credential, and then as many as the
/// server announces. Refused streams and runs of errors halve the window. Otherwise APNs would lower its own
/// limit, and finally close the connection.
package struct SendingWindow: Equatable {
    /// A larger window would only need more memory, because answers arrive within milliseconds.
    package static let maximum = 1000
    /// The number of errors in a row that halves the window.
    package static let errorRun = 5

    /// The meaning of an answer for the connection.
    package enum Sign: Equatable, Sendable {
        /// The server accepted our credential, and the push.
        case good
        /// The server may want fewer pushes.
        case bad
        /// The answer says neither.
        case none
    }

    private var limit = 1
    private var errors = 0
    /// Whether the server has accepted our credential on this connection.
    package private(set) var isProven = false

    /// - Parameter isProven: whether the server has accepted our credential on another connection.
    package init(isProven: Bool = false) {
        if isProven { adapt(to: Sign.good) }
    }

    /// - Parameter server: the server's limit; 0 until it has announced one.
    package func size(server: Int) -> Int {
        isProven ? max(1, min(limit, server)) : 1
    }

    package mutating func adapt(to sign: Sign) {
        switch sign {
        case .good:
            errors = 0
            if isProven {
                limit = min(Self.maximum, limit + 1)
            } else {
                isProven = true
                limit = Self.maximum
            }
        case .bad:
            errors += 1
            if errors.isMultiple(of: Self.errorRun) { shrink() }
        case .none: break
        }
    }

    package mutating func shrink() {
        limit = max(1, limit / 2)
    }
}
