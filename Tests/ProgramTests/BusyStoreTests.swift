import TestSupport
import Testing
import Unix

/// A document that another program keeps locked.
@Suite struct BusyStoreTests {
    @Test(
        "a program that cannot lock within two seconds says when to come back, and writes nothing")
    func busy() async throws {
        let installation = try Endpoint.installation()
        let lock = try SharedLock.open(of: "users/eb/1783478.json", in: installation.state)
        #expect(try lock.tryLock())
        let before = documents(in: installation)
        let attempts = ["generate-api-key", "register", "devices-register", "push-register"]
            .compactMap { name in
                Endpoint.all.first { $0.program == name }.map { attempt($0) }
            }
        let ended = try await onItsOwnThread {
            try attempts.map { try $0.start(in: installation) }.map { try $0.end() }
        }
        for (attempt, program) in zip(attempts, ended) {
            try attempt.check(program, 503)
            #expect(try Answer(http: program.stdout).headers["retry-after"] == "2")
            #expect(program.stderr.hasSuffix(".lock: busy for 2000 ms\n"))
        }
        // The files written before the user's document are indices, or a key that nobody has got.
        let after = documents(in: installation)
        #expect(before.allSatisfy { after[$0.key] == $0.value })

        lock.unlock()
        for attempt in attempts {
            let stdout = try attempt.start(in: installation).end().stdout
            #expect(try Answer(http: stdout).status == 200)
        }
    }

    @Test("a program that only reads does not wait")
    func reader() throws {
        let installation = try Endpoint.installation()
        let lock = try SharedLock.open(of: "users/eb/1783478.json", in: installation.state)
        #expect(try lock.tryLock())
        for name in ["api-keys", "users-by-token", "health", "devices-list", "push-status"] {
            let endpoint = try #require(Endpoint.all.first { $0.program == name })
            let stdout = try attempt(endpoint).start(in: installation).end().stdout
            #expect(try Answer(http: stdout).status == 200)
        }
    }

    private func attempt(_ endpoint: Endpoint) -> Attempt {
        let body = endpoint.body ?? ""
        let template =
            "{M} {P} HTTP/1.1\r\nHost: a\r\n{K}Content-Length: \(body.utf8.count)\r\n\r\n\(body)"
        let input = endpoint.filled(template, credential: endpoint.headerLine)
        return Attempt(endpoint: endpoint, front: .http, input: input)
    }

    private func documents(in installation: Installation) -> [String: [UInt8]] {
        installation.state.files().filter { $0.key.hasSuffix(".json") }
    }
}
