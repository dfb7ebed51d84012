import Foundation
import JSON
import TestSupport
import Testing
import Turnstone

/// `bootstrap` with handlers that are shell scripts, and Runtime APIs of all manners.
@Suite struct LambdaTests {
    @Test func oneProcessServesOneEventAfterTheOther() throws {
        // The parent of a handler is `bootstrap`.
        let here = try Package("echo \"{\\\"parent\\\": $PPID, \\\"event\\\": $(cat)}\"")
        let function = try LambdaFunction("handler", in: here.path)
        var parents: Set<Int64> = []
        for number in 0..<50 {
            let outcome = try function.api.invoke(Array("\(number)".utf8))
            guard case .answer(let bytes) = outcome, let answer = try JSON.parse(bytes).object
            else { throw TestFailure("\(outcome)") }
            #expect(answer["event"] == .integer(Int64(number)))
            parents.insert(answer["parent"]?.integer ?? 0)
        }
        #expect(parents.count == 1)
        #expect(function.api.faults == [])
    }

    @Test(
        "what a handler does becomes an outcome",
        arguments: [
            ("cat", .answer(Array(#"{"a": "é"}"#.utf8))),
            ("echo one; echo two; echo '{}'", .answer(Array("{}".utf8))),
            ("printf '{}'", .answer(Array("{}".utf8))),
            ("exec true", .error("NoAnswer", "answers nothing")),
            ("echo {}; exit 111", .error("Later", "may work later")),
            ("echo {}; exit 100", .error("Failed", "ended with 100: its log says why")),
            ("echo {}; kill -SEGV $$", .error("Crashed", "was ended by the signal 11")),
            ("head -c 7000000 /dev/zero", .error("TooLarge", "answers more than Lambda takes")),
            ("exec sleep 60", .error("TimedOut", "was ended: the function's time was over")),
            (
                "trap '' TERM; sleep 60 & sleep 60; wait",
                .error("TimedOut", "was ended: the function's time was over")
            ),
            ("trap 'echo {}; exit 0' TERM; sleep 60 & wait", .answer(Array("{}".utf8))),
            ("exec echo $TURNSTONE_DELIVER", .answer(Array("external".utf8))),
        ] as [(String, RuntimeAPI.Outcome)])
    func outcomes(script: String, expected: RuntimeAPI.Outcome) throws {
        let here = try Package(script)
        let function = try LambdaFunction(
            "handler", in: here.path,
            environment: ["PATH": "/usr/bin:/bin", "TURNSTONE_DELIVER": "spawn"])
        let event = Array(#"{"a": "é"}"#.utf8)
        let isSlow = script.contains("sleep")
        #expect(try function.api.invoke(event, timeLimit: isSlow ? 4_000 : 30_000) == expected)
        // And it goes on.
        #expect(
            try function.api.invoke(event, timeLimit: isSlow ? 4_000 : 30_000) == expected)
        #expect(function.api.faults == [])
    }

    @Test func anErrorComesBeforeTheDeadlineAndNothingIsLeftRunning() throws {
        let here = try Package("echo $$ > pid; sleep 60 & echo $! >> pid; sleep 60")
        let function = try LambdaFunction("handler", in: here.path)
        let start = Date()
        let outcome = try function.api.invoke(Array("{}".utf8), timeLimit: 8_000)
        #expect(Date().timeIntervalSince(start) < 8)
        guard case .error("Turnstone.TimedOut", _) = outcome else {
            Issue.record("\(outcome)")
            return
        }
        let ids = try String(contentsOfFile: "\(here.path)/pid", encoding: .utf8)
            .split(separator: "\n").compactMap { pid_t($0) }
        #expect(ids.count == 2)
        for id in ids { #expect(try Package.isGone(id), "\(id)") }
    }

    @Test("an event of any size arrives whole", arguments: [RuntimeAPI.Manner.ordinary, .inChunks])
    func sizes(manner: RuntimeAPI.Manner) throws {
        let here = try Package("wc -c")
        let function = try LambdaFunction(
            "handler", in: here.path, manner: manner, environment: ["PATH": "/usr/bin:/bin"])
        for size in [0, 1, 1_000, 65_536, 6 << 20] {
            let event = [UInt8](repeating: 32, count: size)
            #expect(try function.api.invoke(event) == .answer(Array("\(size)".utf8)))
        }
    }

    @Test func aLargeAnswerLeavesWhole() throws {
        let here = try Package("head -c 6000000 /dev/zero | tr '\\0' x")
        let function = try LambdaFunction(
            "handler", in: here.path, environment: ["PATH": "/usr/bin:/bin"])
        let answer = RuntimeAPI.Outcome.answer([UInt8](repeating: 120, count: 6_000_000))
        #expect(try function.api.invoke([]) == answer)
    }

    @Test func whatAHandlerSaysGoesToTheLogAndNothingElseDoes() throws {
        let here = try Package("echo first; echo trouble >&2; echo '{}'")
        let function = try LambdaFunction("handler", in: here.path)
        _ = try function.api.invoke(Array("secret".utf8))
        try function.end()
        let lines = function.log.split(separator: "\n").map { String($0) }
        #expect(lines.count == 3)
        #expect(Set(lines.prefix(2)) == ["first", "trouble"])
        #expect(lines.last?.hasPrefix("bootstrap: unable to use the Runtime API") == true)
    }

    @Test(
        "a handler that is not there is said before the first event",
        arguments: ["", "nothing", "../handler", "a/b", "data"])
    func wrongHandler(name: String) throws {
        let here = try Package("true")
        try here.folder.write("{}", to: "data")
        let function = try LambdaFunction(name, in: here.path)
        #expect(try function.exitCode() == 1)
        let sentence = "the function's handler must name a program of the package"
        #expect(function.log == "bootstrap: \(sentence)\n")
        let expected = RuntimeAPI.Outcome.error(
            type: "Turnstone.Configuration", message: sentence)
        #expect(function.api.initializationError == expected)
    }

    @Test(
        "an unusable Runtime API ends it",
        arguments: [
            "", "x", "HTTP/1.1 200 OK\r\n", "HTTP/1.1 200 OK\r\n\r\n{}",
            "HTTP/1.1 200 OK\r\nLambda-Runtime-Aws-Request-Id: a/b\r\nLambda-Runtime-Deadline-Ms: 9999999999999\r\n\r\n{}",
            "HTTP/1.1 200 OK\r\nLambda-Runtime-Aws-Request-Id: a\r\nLambda-Runtime-Deadline-Ms: soon\r\n\r\n{}",
            "HTTP/1.1 200 OK\r\nLambda-Runtime-Aws-Request-Id: a\r\nContent-Length: 3\r\n\r\n{}",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n-2\r\n{}\r\n0\r\n\r\n",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\n{}",
            "HTTP/1.1 500 Internal Server Error\r\n\r\n", "HTTP/2 200\r\n\r\n{}",
        ])
    func oddServer(answer: String) throws {
        let here = try Package("true")
        let function = try LambdaFunction("handler", in: here.path, manner: .odd(answer))
        #expect(try function.exitCode() == 1)
        #expect(function.log.hasPrefix("bootstrap: unable to use the Runtime API: "))
        #expect(function.log.filter { $0 == "\n" }.count == 1)
    }

    @Test(
        "without a Runtime API nothing begins",
        arguments: [nil, "", "localhost:9001", "127.0.0.1", "127.0.0.1:0", "127.0.0.1:1:1"])
    func noServer(address: String?) throws {
        let here = try Package("true")
        let entries =
            ["_HANDLER=handler"] + (address.map { ["AWS_LAMBDA_RUNTIME_API=\($0)"] } ?? [])
        let ended = try Programs.start(at: "\(here.path)/bootstrap", entries: entries).end()
        #expect(ended.exitCode == 1)
        #expect(ended.stderr.hasPrefix("bootstrap: AWS_LAMBDA_RUNTIME_API "))
    }
}

/// A folder with `bootstrap` and a handler that is a shell script.
private struct Package {
    let folder = TemporaryFolder()
    var path: String { folder.path }

    init(_ script: String) throws {
        try folder.writeProgram("#!/bin/sh\ncd '\(folder.path)'\n\(script)\n", to: "handler")
        try folder.copyProgram(Programs.path("bootstrap"), to: "bootstrap")
    }

    /// Whether a process has ended, or does so within a moment.
    static func isGone(_ id: pid_t) throws -> Bool {
        for _ in 0..<500 {
            let status = try? String(contentsOfFile: "/proc/\(id)/stat", encoding: .utf8)
            // Whoever has adopted it may let it be a zombie for a while.
            guard let status, !status.contains(") Z ") else { return true }
            usleep(10_000)
        }
        return false
    }
}

extension RuntimeAPI.Outcome {
    fileprivate static func error(_ type: String, _ message: String) -> Self {
        .error(type: "Turnstone.\(type)", message: "handler \(message)")
    }
}
