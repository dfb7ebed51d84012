import Dispatch
import Synchronization
import Testing

/// Runs an asynchronous test, or each of a suite, in an executor of its own, and cancels it after some time. If it does
/// not end then, the process does.
///
/// In the executor that all tests share, a test waits at each `await` for those that were there first, which
/// takes minutes in a full run, and `.timeLimit` counts that, too.
package struct OwnExecutor: SuiteTrait, TestTrait, TestScoping {
    package let isRecursive = true
    let seconds: Int
    /// How many seconds a test has to end after that.
    let grace: Int

    package init(seconds: Int, grace: Int = 30) {
        self.seconds = seconds
        self.grace = grace
    }

    package func provideScope(
        for test: Test, testCase: Test.Case?,
        performing function: @Sendable @concurrent () async throws -> Void
    ) async throws {
        guard testCase != nil else { return try await function() }
        try withoutActuallyEscaping(function) { try run(Work($0), named: test.name) }
    }

    /// Blocks the shared executor's thread, as a synchronous test does, so that nothing waits for it again.
    package func run(_ work: Work, named name: String) throws {
        let result = Mutex<Result<Void, any Error>>(.success(()))
        let ended = DispatchSemaphore(value: 0)
        let task = Task(executorPreference: Executor()) {
            do { try await work.perform() } catch { result.withLock { $0 = .failure(error) } }
            ended.signal()
        }
        if ended.wait(timeout: .now() + .seconds(seconds)) == .timedOut {
            task.cancel()
            if ended.wait(timeout: .now() + .seconds(grace)) == .timedOut {
                fatalError("\(name) does not end: cancelled after \(seconds) s, \(grace) s ago")
            }
            Issue.record("not over after \(seconds) s")
        }
        try result.withLock { try $0.get() }
    }

    /// A test's function, which nothing may keep once it is performed: a task ends a little later.
    package final class Work: Sendable {
        private let function: Mutex<(@Sendable @concurrent () async throws -> Void)?>

        package init(_ function: @escaping @Sendable @concurrent () async throws -> Void) {
            self.function = Mutex(function)
        }

        func perform() async throws { try await function.withLock { $0.take() }?() }
    }

    /// A serial queue gets a thread whenever it needs one, however many are blocked.
    private final class Executor: TaskExecutor {
        private let queue = DispatchQueue(label: "test")

        func enqueue(_ job: consuming ExecutorJob) {
            let job = UnownedJob(job)
            queue.async { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
        }
    }
}

extension Trait where Self == OwnExecutor {
    /// - Parameter seconds: after which a test is cancelled, and has failed.
    package static func ownExecutor(seconds: Int) -> Self { OwnExecutor(seconds: seconds) }
}
