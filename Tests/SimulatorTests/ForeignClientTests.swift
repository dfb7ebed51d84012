import TestSupport
import Testing

@Suite struct ForeignClientTests {
    @Test("what Google's own library sends is accepted, and it knows the errors")
    func firebaseAdmin() async throws {
        let check = try await CheckScript(running: "fcm")
        if let skipped = check.skipped { try Test.cancel("\(skipped)") }
        #expect(check.failures == [])
        #expect(check.isComplete, "\(check.output)")
    }
}
