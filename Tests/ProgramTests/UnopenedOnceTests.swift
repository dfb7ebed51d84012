import JSON
import TestSupport
import Testing
import Turnstone

/// Erasures that cannot open a document of the user's at one moment, and can again afterwards.
@Suite(.enabled(if: SystemCalls.isPossible, "strace is not installed"))
struct UnopenedOnceTests {
    private func ended(
        _ name: FixtureName, failing number: Int?, in installation: inout Installation
    ) throws -> (opened: [String], answer: Answer) {
        let fixture = try Fixture(name, in: installation)
        try installation.prepare(fixture)
        try addFormerID(to: installation.state)
        let fault = number.map { ["-e", "inject=openat:error=EACCES:when=\($0)"] } ?? []
        let (traced, ended) = try SystemCalls.of(
            Programs.path(name.program), ["openat"], input: Array(fixture.request.input.utf8),
            environment: installation.environment, options: fault)
        return (traced.calls.map { $0.text(0) ?? "" }, try Answer(event: ended.stdout))
    }

    /// Lets the user have had another id, which only the document and the receipts name.
    private func addFormerID(to state: TemporaryFolder) throws {
        let path = "users/49/ann.json"
        var document = try #require(try JSON.parse(state.read(path) ?? []).object)
        document["former_id"] = "zoe"
        try state.write(JSON.text(.object(document)), to: path)
        let receipt = #"{"id":"n","n":0,"user":"zoe","device":"80ab80ab","at":1795262300000}"#
        try state.write("\(receipt)\n", to: "receipts/2026-11-21.apns.1.jsonl")
    }

    @Test(
        "either nothing names the user, or the answer says so",
        arguments: ["users", "onesignal-users"])
    func erasure(program: String) throws {
        let name = try #require(
            FixtureName.all.first { "\($0)" == "\(program)/fixtures/200-delete.json" })
        var first = try Installation()
        let opened = try ended(name, failing: nil, in: &first).opened
        var tried = 0
        for (index, path) in opened.enumerated()
        where path.hasPrefix(first.state.path) && path.hasSuffix(".json") {
            var installation = try Installation()
            let answer = try ended(name, failing: index + 1, in: &installation).answer
            tried += 1
            let isComplete =
                answer.status == 200
                && answer.json?.object?["erased"]?.object?["unreadable"] == nil
            let naming = installation.state.files().filter { file in
                let text = String(decoding: file.value, as: UTF8.self)
                return file.key.hasSuffix("/ann.json") || text.contains(#""ann""#)
                    || text.contains(#""zoe""#)
            }
            #expect(
                !isComplete || naming.isEmpty,
                "\(path), opened as number \(index + 1): \(answer.body) \(naming.keys)")
        }
        #expect(tried > 5)
    }
}
