/// Consecutive failures of the same kind.
package struct Failures: Equatable, Sendable {
    package let trouble: Trouble
    package let count: Int

    /// - Parameter count: stored as 1000 if it is larger.
    package init(_ trouble: Trouble, count: Int) {
        self.trouble = trouble
        self.count = min(max(count, 1), 1000)
    }
}
