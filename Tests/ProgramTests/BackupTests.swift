import Foundation
import TestSupport
import Testing

/// A copy of the state folder as a backup, taken while programs write.
@Suite struct BackupTests {
    private static let document = "users/eb/1783478.json"

    /// Commands that copy a folder with all attributes that `cp`, `rsync` and `tar` preserve.
    enum Copier: String, CaseIterable, Sendable {
        case cp, rsync, tar

        func command(_ from: String, _ to: String) -> String {
            switch self {
            case .cp: "cp -a '\(from)/.' '\(to)'"
            case .rsync: "rsync -a '\(from)/' '\(to)/'"
            case .tar: "tar -C '\(from)' -cf - . | tar -C '\(to)' -xpf -"
            }
        }

        /// A file that goes while it is copied is a complaint of theirs, and no harm.
        func copy(_ from: String, _ to: String) throws {
            let ended = try Programs.start(
                at: "/bin/sh", ["-c", "mkdir -p '\(to)' && \(command(from, to))"],
                entries: ["PATH=/usr/bin:/bin"]
            ).end()
            guard ended.exitCode != 127 else { throw TestFailure("no \(self): \(ended.stderr)") }
        }

        static let here = allCases.filter {
            FileManager.default.isExecutableFile(atPath: "/usr/bin/\($0)")
        }
    }

    private func change(
        _ installation: Installation, in folder: String, name: String
    ) throws -> EndedProgram {
        // A device of its own each time: the clock stands still, so that nothing else changes the document.
        let number = name.utf8.reduce(0) { ($0 * 31 + Int($1)) % 1_000_000_000 }
        let token = String(repeating: "0", count: 54) + String(1_000_000_000 + number)
        let body = #"{"user_id": "1783478", "device_token": "\#(token)"}"#
        let event =
            #"{"method":"POST","path":"/register","headers":{"X-API-Key":"\#(Endpoint.key)"},"body":\#(body)}"#
        return try Programs.run(
            "register", stdin: event,
            environment: installation.environment.merging(["TURNSTONE_STATE": folder]) { $1 })
    }

    private func status(_ ended: EndedProgram) throws -> Int {
        try Answer(event: ended.stdout).status
    }

    /// A folder with a document of its first commit and the lock of its last.
    private func torn(_ installation: Installation) throws -> [UInt8] {
        #expect(try status(change(installation, in: installation.state.path, name: "a")) == 200)
        let old = try #require(installation.state.read(Self.document))
        for number in 0..<3 {
            #expect(
                try status(change(installation, in: installation.state.path, name: "b\(number)"))
                    == 200)
        }
        return old
    }

    @Test(
        "a copy whose document is older than its lock's number can be written",
        arguments: Copier.here)
    func copied(copier: Copier) throws {
        let installation = try Endpoint.installation()
        let old = try torn(installation)
        let copy = TemporaryFolder()
        try copier.copy(installation.state.path, copy.path)
        try copy.write(old, to: Self.document)
        for name in ["c", "d"] {
            let ended = try change(installation, in: copy.path, name: name)
            #expect(try status(ended) == 200, "\(ended.stderr)")
        }
        // And a document that was made while it was copied is not missed.
        unlink("\(copy.path)/\(Self.document)")
        let another = TemporaryFolder()
        try copier.copy(copy.path, another.path)
        let ended = try change(installation, in: another.path, name: "e")
        #expect(try status(ended) == 200, "\(ended.stderr)")
    }

    @Test(
        "where the folder lives, a document older than its lock's number is refused, also after a renaming"
    )
    func stale() throws {
        let installation = try Endpoint.installation()
        let old = try torn(installation)
        try installation.state.write(old, to: Self.document)
        #expect(try status(change(installation, in: installation.state.path, name: "c")) == 500)
        let elsewhere = TemporaryFolder()
        let moved = "\(elsewhere.path)/moved"
        #expect(rename(installation.state.path, moved) == 0)
        #expect(try status(change(installation, in: moved, name: "c")) == 500)
        #expect(rename(moved, installation.state.path) == 0)
    }

    @Test(
        "a copy taken under 8 writers and a drainer can be written, and holds every accepted notification"
    )
    func live() async throws {
        let rounds = ProcessInfo.processInfo.environment["TURNSTONE_LONG"] == nil ? 5 : 50
        let installation = try Endpoint.installation(environment: ["DELIVER_LINGER_SECONDS": "0"])
        let environment = installation.environment
        let folder = installation.state.path
        let stop = TemporaryFolder()
        // Each writer registers, sends, and records the accepted ids. A pause keeps the folder from growing
        // faster than a busy machine copies it.
        let script = #"""
            i=0
            device=$(printf %064d "$N")
            while [ ! -e "$STOP/stop" ]; do
                i=$((i + 1))
                printf '{"method":"POST","path":"/register","headers":{"X-API-Key":"%s"},"body":{"user_id":"1783478","device_token":"%s"}}' "$KEY" "$device" | "$BIN/register" >/dev/null 2>&1
                printf '{"method":"POST","path":"/api/notify","headers":{"Authorization":"Key %s"},"body":{"devices":["%s"],"title":"%d"}}' "$SERVER" "$device" "$i" | "$BIN/notify" 2>/dev/null | sed -n 's/.*"statusCode":202.*"id\\":\\"\([0-9a-f-]*\)\\".*/\1/p' >>"$STOP/ids.$N"
                [ "$N" != 1 ] || "$BIN/deliver" </dev/null >/dev/null 2>&1
                sleep 0.05
            done
            """#
        let entries =
            environment.map { "\($0.key)=\($0.value)" } + [
                "PATH=/usr/bin:/bin", "STOP=\(stop.path)", "KEY=\(Endpoint.key)",
                "SERVER=\(Endpoint.serverKey)", "BIN=\(Programs.folder)",
            ]
        try await onItsOwnThread {
            let writers = try (1...8).map { number in
                try Programs.start(
                    at: "/bin/sh", ["-c", script], entries: entries + ["N=\(number)"])
            }
            defer {
                try? stop.write("", to: "stop")
                for writer in writers { _ = try? writer.end() }
            }
            try wait(until: "a writer's request is accepted") { !accepted(stop).isEmpty }
            for _ in 0..<rounds {
                let before = accepted(stop)
                let copy = TemporaryFolder()
                // Twice: a file that moves between folders is in at least one of the copies.
                for _ in 0..<2 { try Copier.cp.copy(folder, copy.path) }
                let files = copy.files()
                let receipts = [copy, installation.state].flatMap { $0.files() }
                    .filter { $0.key.hasPrefix("receipts/") }
                    .map { String(decoding: $0.value, as: UTF8.self) }.joined()
                for id in before {
                    let isThere = files.keys.contains { $0.hasSuffix("/\(id).jsonl") }
                    #expect(isThere || receipts.contains(id), "\(id) is lost")
                }
                let ended = try change(installation, in: copy.path, name: "restored")
                #expect(try status(ended) == 200, "\(ended.stderr)")
                let sent = try Programs.run(
                    "notify",
                    stdin:
                        #"{"method":"POST","path":"/api/notify","headers":{"Authorization":"Key "#
                        + #"\#(Endpoint.serverKey)"},"body":{"users":["1783478"],"title":"restored"}}"#,
                    environment: environment.merging(["TURNSTONE_STATE": copy.path]) { $1 })
                #expect(try status(sent) == 202, "\(sent.stdout)")
                let delivered = try Programs.run(
                    "deliver",
                    environment: environment.merging(["TURNSTONE_STATE": copy.path]) { $1 })
                #expect(delivered.exitCode == 0, "\(delivered.stderr)")
            }
        }
    }

    /// The commands that README.md says, of these folders.
    private func documentedCopy(_ from: String, _ to: String) throws -> String {
        let readme = try String(contentsOfFile: "\(Route.repository)/README.md", encoding: .utf8)
        let line = try #require(readme.split(separator: "\n").first { $0.contains("rsync -a") })
        return line.split(separator: "`")[0].replacingOccurrences(of: "STATE/", with: "\(from)/")
            .replacingOccurrences(of: "BACKUP/", with: "\(to)/")
    }

    @Test(
        "the next night's backup, by the documented commands, does not bring an erased user back",
        .enabled(if: Copier.here.contains(.rsync)))
    func erasedSince() throws {
        let installation = try Endpoint.installation()
        let folder = installation.state.path
        let copy = TemporaryFolder()
        let command = try documentedCopy(folder, copy.path)
        func backUp() throws {
            let ended = try Programs.start(
                at: "/bin/sh", ["-c", command], entries: ["PATH=/usr/bin:/bin"]
            ).end()
            #expect(ended.exitCode == 0, "\(ended.stderr)")
        }
        #expect(try status(change(installation, in: folder, name: "a")) == 200)
        try backUp()
        #expect(copy.read(Self.document) == installation.state.read(Self.document))
        let erased = try Programs.run(
            "users",
            stdin:
                #"{"method":"DELETE","path":"/api/users/1783478","headers":{"Authorization":"Key "#
                + #"\#(Endpoint.serverKey)"}}"#,
            environment: installation.environment)
        #expect(try status(erased) == 200, "\(erased.stdout)")
        try backUp()
        #expect(copy.files().keys.sorted() == installation.state.files().keys.sorted())
        #expect(try status(change(installation, in: copy.path, name: "b")) == 401)
    }

    /// The ids of the messages accepted so far.
    private func accepted(_ folder: TemporaryFolder) -> [String] {
        folder.files().filter { $0.key.hasPrefix("ids.") }.flatMap { file in
            String(decoding: file.value, as: UTF8.self).split(separator: "\n").map { String($0) }
        }
    }
}
