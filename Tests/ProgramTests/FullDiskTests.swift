import Foundation
import JSON
import TestSupport
import Testing
import Turnstone

/// A disk that has no room left: a small file system in a mount namespace of the test's own, which
/// needs the superuser's rights and goes with its last process.
@Suite struct FullDiskTests {
    /// Whether this machine lets us mount something.
    static let isPossible = status(of: "mount -t tmpfs tmpfs /mnt") == 0

    /// Runs the shell's commands where their mounts concern nobody else.
    private static func status(of script: String, _ arguments: [String] = []) -> Int32 {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = ["unshare", "--mount", "sh", "-c", script, "sh"] + arguments
        process.standardInput = FileHandle.nullDevice
        process.standardError = FileHandle.nullDevice
        guard (try? process.run()) != nil else { return -1 }
        process.waitUntilExit()
        return process.terminationStatus
    }

    /// Fills the disk except for some pages, registers, makes room, and registers again.
    ///
    /// `$1` is the folder with the state folder's files, which then becomes the small disk. `$2` gets both
    /// answers and the files after each. `$4` are the commands that register.
    private static let script = """
        set -e
        cp -a "$1" "$2/given"
        mount -t tmpfs -o size=128k tmpfs "$1"
        cp -a "$2/given/." "$1"
        dd if=/dev/zero of="$1/filler" bs=4096 2>/dev/null || true
        truncate -s -$(($3 * 4096)) "$1/filler"
        sh "$4" < "$2/request" > "$2/answer-full" 2> "$2/log-full"
        mkdir "$2/full" "$2/again"
        cp -a "$1/." "$2/full"
        rm "$1/filler" "$2/full/filler"
        sh "$4" < "$2/request" > "$2/answer-again" 2> "$2/log-again"
        cp -a "$1/." "$2/again"
        """

    @Test(
        "a registration without disk space may be repeated, and half of it does no harm",
        .enabled(
            if: isPossible, "this test mounts a small disk, which needs the superuser's rights"),
        arguments: 0...8)
    func register(freePages: Int) throws {
        let installation = try Endpoint.installation()
        let given = installation.state.files()
        let copy = TemporaryFolder()
        try copy.write(request, to: "request")
        let variables = installation.environment.map { "\($0.key)='\($0.value)'" }
        let start = "exec env -i \(variables.joined(separator: " ")) \(Programs.path("register"))\n"
        try copy.write(start, to: "register.sh")
        let arguments = [
            installation.state.path, copy.path, "\(freePages)", "\(copy.path)/register.sh",
        ]
        try #require(Self.status(of: Self.script, arguments) == 0)

        let first = try Answer(event: text("answer-full", in: copy))
        let left = files("full/", of: copy)
        if first.status == 503 {
            #expect(first.headers["retry-after"] == "5")
            #expect(first.json == ["error": "temporarily unavailable"])
            #expect(text("log-full", in: copy).hasSuffix("(ENOSPC)\n"))
            for (name, bytes) in given { #expect(left[name] == bytes, "\(name)") }
        }
        #expect(first.status == 503 || first.status == 200)
        #expect(freePages > 0 || first.status == 503)
        #expect(left.keys.allSatisfy { !$0.hasSuffix(".new") })
        #expect(try Answer(event: text("answer-again", in: copy)).status == 200)
        let user = files("again/", of: copy)["users/eb/1783478.json"].flatMap {
            try? JSON.parse($0)
        }
        #expect(user?.object?["devices"]?.array?.count == 1)
    }

    private let request = """
        {"method": "POST", "path": "/register", "headers": {"X-API-Key": "\(Endpoint.key)"},
         "body": {"user_id": "1783478", "device_token": "\(Endpoint.token)"}}
        """

    private func text(_ name: String, in folder: TemporaryFolder) -> String {
        String(decoding: folder.read(name) ?? [], as: UTF8.self)
    }

    private func files(_ prefix: String, of folder: TemporaryFolder) -> [String: [UInt8]] {
        var files: [String: [UInt8]] = [:]
        for (name, bytes) in folder.files() where name.hasPrefix(prefix) {
            files[String(name.dropFirst(prefix.count))] = bytes
        }
        return files
    }
}
