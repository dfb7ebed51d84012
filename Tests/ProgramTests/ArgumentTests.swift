import Foundation
import TestSupport
import Testing
import Turnstone

/// `--help` and `--version`, of every program, and arguments that no program has.
@Suite struct ArgumentTests {
    static let programs =
        Endpoint.alone.map { $0.program } + [
            "check-turns", "deliver", "deliver-web", "front", "bootstrap", "storage-test",
        ]

    /// A state folder in which every program has something to do.
    private func run(
        _ program: String, _ arguments: [String], more: [String: String] = [:]
    ) throws -> (ended: EndedProgram, changed: Bool) {
        let state = TemporaryFolder()
        try state.write(Array(#"{"version": 2}"#.utf8), to: "version.json")
        let before = try files(in: state.path)
        let environment = [
            "TURNSTONE_STATE": state.path, "TURNSTONE_CONFIG": "/dev/null",
            "OGS_BASE_URL": "http://127.0.0.1:1", "DELIVER_LINGER_SECONDS": "0",
        ]
        // Standard input stays open: a program that reads it waits.
        let ended = try Programs.start(
            program, arguments, inputStaysOpen: true,
            entries: environment.merging(more) { $1 }.map { "\($0.key)=\($0.value)" }
        ).end(timeLimit: 8)
        return (ended, try files(in: state.path) != before)
    }

    private func files(in folder: String) throws -> [String] {
        try FileManager.default.subpathsOfDirectory(atPath: folder).sorted()
    }

    @Test("--help shows how to use the program, and does nothing else", arguments: programs)
    func help(program: String) throws {
        for argument in ["--help", "-h"] {
            let (ended, changed) = try run(program, [argument])
            #expect(ended.exitCode == 0, "\(ended.stderr)")
            #expect(ended.stdout.hasPrefix("Usage: \(program) [--help | --version]\n"))
            #expect(ended.stdout.hasSuffix("\n"))
            #expect(ended.stderr.isEmpty)
            #expect(!changed)
        }
    }

    @Test("--help of an endpoint lists its routes")
    func routes() throws {
        for endpoint in Endpoint.alone {
            let text = try run(endpoint.program, ["--help"]).ended.stdout
            #expect(text.contains("  \(endpoint.method) /"), "\(endpoint.program): \(text)")
        }
        let text = try run("front", ["--help"]).ended.stdout
        #expect(text.contains("  DELETE /api/devices/{device_token}\n"), "\(text)")
    }

    @Test("--version shows the version, and does nothing else", arguments: programs)
    func version(program: String) throws {
        let (ended, changed) = try run(program, ["--version"])
        #expect(ended.exitCode == 0, "\(ended.stderr)")
        #expect(ended.stdout == "\(program) (Turnstone) \(turnstoneVersion)\n")
        #expect(ended.stderr.isEmpty)
        #expect(!changed)
    }

    @Test("an unknown option starts no work", arguments: programs)
    func unknown(program: String) throws {
        let (ended, changed) = try run(program, ["--hlep"])
        #expect(ended.exitCode == 100)
        #expect(ended.stdout.isEmpty)
        #expect(
            ended.stderr == "\(program): unknown argument --hlep; \(program) --help lists them\n")
        #expect(!changed)
    }

    @Test("under CGI, arguments are part of the request", arguments: ["--help", "--hlep"])
    func cgi(argument: String) throws {
        let (ended, _) = try run(
            "health", [argument],
            more: [
                "GATEWAY_INTERFACE": "CGI/1.1", "REQUEST_METHOD": "GET",
                "REQUEST_URI": "/health?\(argument)",
            ])
        #expect(ended.stdout.hasPrefix("Status: 200 OK\r\n"), "\(ended.stdout)")
    }
}
