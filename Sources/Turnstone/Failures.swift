/// Failures that follow on each other.
package struct Failures: Equatable, Sendable {
    package let trouble: Trouble
    package let count: Int

    /// - Parameter count: more than a thousand are not told apart.
    package init(_ trouble: Trouble, count: Int) {
        self.trouble = trouble
        self.count = min(max(count, 1), 1000)
    }
}
