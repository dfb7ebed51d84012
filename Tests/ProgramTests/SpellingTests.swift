import Foundation
import TestSupport
import Testing
import Turnstone

/// Variables whose names nobody knows.
@Suite struct SpellingTests {
    private func log(
        of program: String, environment: [String: String] = [:], config: String = ""
    ) throws -> (ended: EndedProgram, config: String) {
        let folder = TemporaryFolder()
        try folder.write(Array(config.utf8), to: "app.env")
        let path = "\(folder.path)/app.env"
        let all = ["TURNSTONE_STATE": "\(folder.path)/state", "TURNSTONE_CONFIG": path]
        let ended = try Programs.run(
            program, stdin: program == "health" ? #"{"method": "GET", "path": "/health"}"# : "",
            environment: all.merging(environment) { $1 })
        return (ended, path)
    }

    @Test(
        "a misspelt variable of the environment is named, with the one that was meant",
        arguments: [
            ("APNS_KEYID", "APNS_KEY_ID"), ("JWT_SECERT", "JWT_SECRET"),
            ("OGS_BASEURL", "OGS_BASE_URL"), ("TURNSTONE_STAT", "TURNSTONE_STATE"),
            ("JWT_AUDIENCES", "JWT_AUDIENCE"), ("TURNSTONE_SERVER_KEYS", "TURNSTONE_SERVER_KEY"),
        ])
    func environment(name: String, meant: String) throws {
        for program in ["health", "check-turns"] {
            let ended = try log(of: program, environment: [name: "very secret"]).ended
            #expect(
                ended.stderr
                    == "\(program): unknown variable \(name) in the environment: did you mean \(meant)?\n"
            )
            #expect(ended.exitCode == 0)
        }
    }

    @Test(
        "one that resembles none of ours is named without a suggestion",
        arguments: ["OGS_XYZZY_PLUGH_QUUX", "TURNSTONE_FOO", "OGS_URL"])
    func alone(name: String) throws {
        let ended = try log(of: "health", environment: [name: "1"]).ended
        #expect(
            ended.stderr
                == "health: unknown variable \(name) in the environment: nothing reads it. Remove it, or see README.md for the names\n"
        )
    }

    @Test("one in the configuration file is named with the file, also where its beginning is wrong")
    func file() throws {
        let config = "APNS_KEYID=1\nMASTER_APIKEY=2\nAPN_TEAM_ID=3\nLANG=C\nHTTPS_PROXY=4\n"
        let (ended, path) = try log(of: "health", config: config)
        #expect(
            ended.stderr == """
                health: unknown variable APNS_KEYID in \(path): did you mean APNS_KEY_ID?
                health: unknown variable MASTER_APIKEY in \(path): did you mean MASTER_API_KEY?
                health: unknown variable APN_TEAM_ID in \(path): did you mean APNS_TEAM_ID?

                """)
    }

    @Test("what others call their variables is theirs")
    func others() throws {
        let environment = ["PATH": "/bin", "MASTER_APIKEY": "1", "APN_KEY_ID": "2", "JWTS": "3"]
        #expect(try log(of: "health", environment: environment).ended.stderr.isEmpty)
    }

    @Test("a log in JSON has the warning too")
    func json() throws {
        let environment = ["TURNSTONE_LOG": "json", "OGS_BASEURL": "x"]
        let text = try log(of: "health", environment: environment).ended.stderr
        #expect(text.contains(#""level":"warning""#) && text.contains("OGS_BASE_URL"), "\(text)")
    }

    @Test("every variable in README.md is known")
    func documented() throws {
        let readme = try String(contentsOfFile: "\(repository)/README.md", encoding: .utf8)
        let table = readme.components(separatedBy: "## Configuration")[1]
            .components(separatedBy: "\n### ")[0]
        let names = table.split(separator: "`").filter { name in
            name.contains("_") && !name.hasSuffix("_")
                && name.allSatisfy { $0.isUppercase || $0 == "_" }
        }
        #expect(names.count > 25)
        for name in names { #expect(Variables.known.contains(String(name)), "\(name)") }
    }

    @Test("every variable that the code names is known")
    func read() throws {
        let pattern = try Regex(#""((TURNSTONE|APNS|OGS|JWT)_[A-Z_]+)""#)
        var found = 0
        for folder in ["Sources", "functions"] {
            let root = "\(repository)/\(folder)"
            for path in try FileManager.default.subpathsOfDirectory(atPath: root)
            where path.hasSuffix(".swift") {
                let text = try String(contentsOfFile: "\(root)/\(path)", encoding: .utf8)
                for match in text.matches(of: pattern) {
                    guard let name = match.output[1].substring else { continue }
                    found += 1
                    #expect(Variables.known.contains(String(name)), "\(path): \(name)")
                }
            }
        }
        #expect(found > 30)
    }

    private let repository = URL(fileURLWithPath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent().path
}
