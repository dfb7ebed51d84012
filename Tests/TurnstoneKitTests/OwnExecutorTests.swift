import Glibc
import TestSupport
import Testing

@Suite struct OwnExecutorTests {
    /// It would keep the whole run waiting without end.
    @Test func aTestThatDoesNotEndWhenItIsCancelledEndsTheRun() async throws {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent])
        {
            alarm(20)
            try OwnExecutor(seconds: 0, grace: 0).run(
                .init { await withUnsafeContinuation { (_: UnsafeContinuation<Void, Never>) in } },
                named: "stuck")
        }
        let sentence = String(decoding: try #require(result).standardErrorContent, as: UTF8.self)
        #expect(sentence.contains("stuck does not end"))
    }
}
