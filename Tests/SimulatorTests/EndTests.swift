import Foundation
import TestSupport
import Testing

@Suite struct EndTests {
    private let folder = TemporaryFolder()

    @Test("it ends with its standard input")
    func endOfInput() throws {
        let ended = try Programs.run(
            "simulator", ["--folder", folder.path, "--until-stdin-ends"], environment: [:])
        #expect(ended.exitCode == 0)
        #expect(ended.stdout.hasPrefix(#"{"ogs":"https://127.0.0.1:"#))
        #expect(ended.stderr.isEmpty)
    }

    @Test("it ends with its standard input even while it waits")
    func endOfInputInAWait() throws {
        let ended = try Programs.run(
            "simulator", ["--folder", folder.path, "--until-stdin-ends"],
            stdin: #"{"do": "wait", "pushes": 1, "ms": 3600000}"# + "\n", environment: [:])
        #expect(ended.exitCode == 0)
    }

    @Test("it answers each line in its order, also while it waits")
    func order() throws {
        let ended = try Programs.run(
            "simulator", ["--folder", folder.path],
            stdin: """
                {"do": "wait", "pushes": 1, "ms": 20}
                {"do": "dance"}

                {"do": "show"}
                {"do": "end"}
                {"do": "report"}

                """, environment: [:])
        let lines = ended.stdout.split(separator: "\n").dropFirst().map(String.init)
        #expect(
            lines == [
                #"{"ok":true,"reached":false,"accepted":0}"#,
                #"{"ok":false,"error":"unknown command dance"}"#,
                #"{"ok":true,"text":""}"#, #"{"ok":true}"#,
            ])
    }

    @Test("a second one finds the keys of the first")
    func keysStay() throws {
        let arguments = ["--folder", folder.path, "--until-stdin-ends"]
        _ = try Programs.run("simulator", arguments, environment: [:])
        let keys = folder.files().filter { $0.key != "simulator.env" }
        _ = try Programs.run("simulator", arguments, environment: [:])
        #expect(folder.files().filter { $0.key != "simulator.env" } == keys)
        #expect(
            keys.keys.sorted() == [
                "AuthKey_SIMULATOR1.p8", "ca.pem", "server-key.pem", "server.pem",
            ])
    }

    @Test("what keeps it from beginning is one sentence, and exit code 100")
    func misuse() throws {
        try folder.write("nonsense", to: "AuthKey_SIMULATOR1.p8")
        let ended = try Programs.run("simulator", ["--folder", folder.path], environment: [:])
        #expect(ended.exitCode == 100)
        #expect(ended.stderr.hasPrefix("simulator: "))
        #expect(ended.stdout.isEmpty)
    }
}
