import Foundation

/// Blocks a thread of its own rather than one of the few that all tests share.
package func onItsOwnThread<Result: Sendable>(
    _ work: @escaping @Sendable () throws -> Result
) async throws -> Result {
    try await withCheckedThrowingContinuation { (done: CheckedContinuation<Result, any Error>) in
        Thread.detachNewThread { done.resume(with: Swift.Result { try work() }) }
    }
}

/// Does the same thing several times at once, each on a thread of its own.
///
/// - Parameter work: gets numbers from 0. Its errors are thrown on.
package func atOnce<Result: Sendable>(
    _ count: Int, _ work: @escaping @Sendable (Int) throws -> Result
) async throws -> [Result] {
    try await withThrowingTaskGroup(of: Result.self, returning: [Result].self) { group in
        for number in 0..<count {
            group.addTask { try await onItsOwnThread { try work(number) } }
        }
        var results: [Result] = []
        for try await result in group { results.append(result) }
        return results
    }
}
