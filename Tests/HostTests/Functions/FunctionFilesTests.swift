import Foundation
import TestSupport
import Testing

/// The examples for runners of functions.
@Suite struct FunctionFilesTests {
    /// All routes belong to one function, `front`: these files list no routes.
    @Test(
        "an example serves every route, and what a timer starts",
        arguments: [
            ("lambda/template.yaml", #"Handler: ([a-z-]+)"#),
            ("openfaas/stack.yml", #"/usr/lib/turnstone/([a-z-]+)"#),
            ("openwhisk/README.md", #"turnstone-action:([a-z-]+)"#),
        ])
    func programs(file: String, pattern: String) throws {
        let text = try String(
            contentsOfFile: "\(Route.repository)/infra/\(file)", encoding: .utf8)
        let found = try text.matches(of: Regex(pattern)).compactMap {
            $0.output[1].substring.map { String($0) }
        }
        #expect(Set(found) == ["front", "check-turns", "deliver"])
    }

    @Test("the same programs make the same package")
    func package() throws {
        let package = try Package.made.get()
        #expect(try package.bytes() == Package().bytes())
        let root = TemporaryFolder()
        let (task, names) = try package.unpack(under: root.path)
        let programs = try Route.folders()
        #expect(Set(programs + ["bootstrap", "ca-certificates.crt"]).isSubset(of: names))
        let others = names.subtracting(programs + ["bootstrap", "ca-certificates.crt"])
        #expect(
            others.allSatisfy { $0.hasPrefix("lib/") || $0.hasPrefix("share") }, "\(others)")
        #expect(others.isSuperset(of: ["share/page/index.html", "share/openapi.json"]))
        for name in programs + ["bootstrap"] {
            #expect(
                FileManager.default.isExecutableFile(atPath: "\(task)/\(name)"),
                "\(name)")
        }
    }

    /// In a root folder in which there is nothing else, as if it were on a machine of another system.
    @Test(
        "the package needs nothing beside it",
        .enabled(if: getuid() == 0, "only root can change the root folder"),
        arguments: [
            ("front", #"{"method":"GET","path":"/health"}"#, #""statusCode":200"#),
            ("check-turns", "{}", "{}"), ("deliver", "{}", "{}"),
        ])
    func alone(handler: String, event: String, answer: String) throws {
        let root = TemporaryFolder()
        _ = try Package.made.get().unpack(under: root.path)
        let api = try RuntimeAPI()
        defer { api.stop() }
        let script =
            #"mkdir "$1/proc" && mount -t proc proc "$1/proc" && exec chroot "$1" /var/task/bootstrap"#
        let bootstrap = try Programs.start(
            at: "/usr/bin/unshare", ["--mount", "sh", "-c", script, "sh", root.path],
            entries: [
                "PATH=/usr/sbin:/usr/bin:/sbin:/bin", "AWS_LAMBDA_RUNTIME_API=\(api.address)",
                "_HANDLER=\(handler)", "TURNSTONE_STATE=/state", "DELIVER_LINGER_SECONDS=0",
            ])
        guard case .answer(let bytes) = try api.invoke(Array(event.utf8)) else {
            throw TestFailure("\(handler) fails: \(try bootstrap.end().stderr)")
        }
        #expect(String(decoding: bytes, as: UTF8.self).contains(answer))
        #expect(FileManager.default.fileExists(atPath: "\(root.path)/state/version.json"))
    }
}

/// The zip of the tested programs.
private struct Package {
    static let made = Result { try Package() }

    private let folder = TemporaryFolder()
    private var file: String { "\(folder.path)/turnstone.zip" }

    init() throws {
        let entries = [
            "PATH=\(ProcessInfo.processInfo.environment["PATH"] ?? "")",
            "TURNSTONE_BIN=\(Programs.folder)", "SOURCE_DATE_EPOCH=1795262400",
        ]
        let ended = try Programs.start(
            at: "\(Route.repository)/infra/lambda/package", [file], entries: entries
        ).end(timeLimit: 300)
        guard ended.exitCode == 0 else { throw TestFailure(ended.stderr) }
    }

    func bytes() throws -> Data { try Data(contentsOf: URL(fileURLWithPath: file)) }

    /// Unpacks it where Lambda does, in another root folder.
    ///
    /// - Returns: that place, and the names of the files there.
    func unpack(under root: String) throws -> (task: String, names: Set<String>) {
        let task = "\(root)/var/task"
        try FileManager.default.createDirectory(
            atPath: task, withIntermediateDirectories: true)
        let ended = try Programs.start(
            at: "/usr/bin/unzip", ["-q", file, "-d", task], entries: []
        ).end()
        guard ended.exitCode == 0 else { throw TestFailure(ended.stderr) }
        let all = FileManager.default.enumerator(atPath: task)?.allObjects as? [String] ?? []
        return (task, Set(all.filter { $0 != "lib" }))
    }
}
