import Turnstone

/// Waits for each lock that is not free once, and then only briefly. A program that hangs may hold a lock that
/// thousands of documents share, and each of them would wait for it anew.
package final class ImpatientLocking {
    /// The lock files that were not free.
    private var held: Set<String> = []

    package init() {}

    /// Runs `body`, which changes a document: two seconds are waited for its lock, or 20 ms if that was not free
    /// before.
    ///
    /// - Parameter place: of the document for which locks are remembered.
    package func changing<Result>(
        _ place: @autoclosure () -> LockPlace, _ body: () throws(Failure) -> Result
    ) throws(Failure) -> Result {
        let isHeld = !held.isEmpty && held.contains(place().file)
        do throws(Failure) {
            return try Lock.waiting(
                upTo: isHeld ? .milliseconds(20) : .seconds(2), recording: !isHeld, body)
        } catch {
            if error.cause == FailureCause.busy { held.insert(place().file) }
            throw error
        }
    }
}
