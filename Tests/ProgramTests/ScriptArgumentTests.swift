import Foundation
import TestSupport
import Testing

/// What scripts under `infra/` do with arguments and files that make no sense.
@Suite struct ScriptArgumentTests {
    private let repository = URL(fileURLWithPath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent().path

    private func run(
        _ script: String, _ arguments: [String], in folder: String
    ) throws -> (exitCode: Int32, errors: String) {
        let process = Process()
        let errors = Pipe()
        process.executableURL = URL(fileURLWithPath: "\(folder)/infra/\(script)")
        process.arguments = arguments
        process.environment = ["PATH": "/usr/bin:/bin"]
        process.standardOutput = FileHandle.nullDevice
        process.standardError = errors
        try process.run()
        let text = String(
            decoding: errors.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        process.waitUntilExit()
        return (process.terminationStatus, text)
    }

    @Test(
        "unknown arguments start no work",
        arguments: [
            ("build", ["register"]), ("build", ["--only"]), ("build", ["--only", "typo"]),
            ("build", ["--ordinary", "x"]), ("make-routes", ["x"]), ("make-openapi", ["x"]),
            ("test", ["--typo"]),
        ])
    func unknown(script: String, arguments: [String]) throws {
        let (exitCode, errors) = try run(script, arguments, in: repository)
        #expect(exitCode == 100)
        #expect(!errors.isEmpty)
    }

    @Test(
        "--help shows how a script is called", arguments: ["build", "make-routes", "make-openapi"])
    func help(script: String) throws {
        let (exitCode, errors) = try run(script, ["--help"], in: repository)
        #expect(exitCode == 0)
        #expect(errors.contains("infra/\(script)"))
    }

    /// A copy of what make-routes and make-openapi read.
    private func copy() throws -> TemporaryFolder {
        let folder = TemporaryFolder()
        for name in ["infra", "functions"] {
            try FileManager.default.copyItem(
                atPath: "\(repository)/\(name)", toPath: "\(folder.path)/\(name)")
        }
        return folder
    }

    @Test(
        "a wrong line of infra/routes is named, and changes nothing",
        arguments: [
            ("GET /x", "a line needs a method, a pattern and a program"),
            ("FETCH /x health", "FETCH is not one of"), ("GET x health", "x must consist of"),
            ("GET /x nope", "there is no program nope"),
            ("GET /health health", "GET /health is there twice"),
        ])
    func routes(line: String, reason: String) throws {
        let folder = try copy()
        let routes = "\(folder.path)/infra/routes"
        let text = try String(contentsOfFile: routes, encoding: .utf8)
        try (text + line + "\n").write(toFile: routes, atomically: true, encoding: .utf8)
        let before = folder.files()
        for script in ["make-routes", "make-openapi"] {
            let (exitCode, errors) = try run(script, [], in: folder.path)
            #expect(exitCode == 1)
            let number = text.split(separator: "\n", omittingEmptySubsequences: false).count
            #expect(errors.hasPrefix("infra/routes, line \(number): "), "\(errors)")
            #expect(errors.contains(reason), "\(errors)")
        }
        #expect(folder.files() == before)
    }

    @Test("a description without a route is named, also if its program has no route at all")
    func descriptions() throws {
        let folder = try copy()
        let routes = "\(folder.path)/infra/routes"
        let text = try String(contentsOfFile: routes, encoding: .utf8)
        try text.split(separator: "\n").filter { !$0.hasSuffix(" badge") }.joined(separator: "\n")
            .write(toFile: routes, atomically: true, encoding: .utf8)
        let (exitCode, errors) = try run("make-openapi", ["--check"], in: folder.path)
        #expect(exitCode == 1)
        #expect(errors.contains("functions/badge/openapi.json has GET /api/badge"), "\(errors)")

        try text.write(toFile: routes, atomically: true, encoding: .utf8)
        try folder.write("{", to: "functions/badge/openapi.json")
        let broken = try run("make-openapi", [], in: folder.path)
        #expect(broken.exitCode == 1)
        #expect(broken.errors.contains("functions/badge/openapi.json is not valid JSON"))
    }
}
