/// Consecutive failures of the same kind.
package struct Failures: Equatable, Sendable {
    package let kind: FailureKind
    package let count: Int

    /// - Parameter count: stored as 1000 if it is larger.
    package init(_ kind: FailureKind, count: Int) {
        self.kind = kind
        self.count = min(max(count, 1), 1000)
    }
}
