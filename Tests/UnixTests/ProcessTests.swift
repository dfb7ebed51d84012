import Foundation
import TestSupport
import Testing
import Turnstone
import Unix

@Suite struct ProcessTests {
    let folder = TemporaryFolder()

    @Test(
        "a child's exit code is known, a killed one has none",
        arguments: [("exit 0", 0), ("exit 7", 7), ("kill -9 $$", -1)])
    func exitCode(script: String, code: Int32) throws {
        let child = try ChildProcess.start("/bin/sh", ["-c", script], output: .null, errors: .null)
        #expect(child.wait() == code)
    }

    @Test("a child's output is appended to a file")
    func appended() throws {
        try folder.write("before\n", to: "log")
        let log = ChildProcess.Stream.file("\(folder.path)/log")
        let script = "echo out; echo err >&2"
        try ChildProcess.start("/bin/sh", ["-c", script], output: log, errors: log).wait()
        #expect(folder.read("log") == Array("before\nout\nerr\n".utf8))
    }

    @Test("a child has no descriptor but its three streams, and an empty input")
    func descriptors() throws {
        let held = try FileDescriptor.open("\(folder.path)/held", .update)
        #expect(held.withNumber { fcntl($0, F_SETFD, 0) } == 0)  // as a host may leave one open
        let log = ChildProcess.Stream.file("\(folder.path)/log")
        let script = "ls /proc/$$/fd; cat"
        try ChildProcess.start("/bin/sh", ["-c", script], output: log, errors: .null).wait()
        #expect(folder.read("log") == Array("0\n1\n2\n".utf8))
    }

    @Test("a program that is not there is an error")
    func missing() {
        #expect(throws: SystemError("start", "/none", .noEntry)) {
            try ChildProcess.start("/none", output: .null, errors: .null)
        }
    }

    @Test(
        "what may pass is worth another try",
        arguments: [
            (ENOSPC, Disposition.later(seconds: 5), "ENOSPC"), (EIO, .later(seconds: 5), "EIO"),
            (EROFS, .later(seconds: 5), "EROFS"), (EMFILE, .later(seconds: 5), "EMFILE"),
            (EACCES, .broken, "EACCES"), (ENOENT, .broken, "ENOENT"), (ESPIPE, .broken, "ESPIPE"),
            (EUCLEAN, .broken, "EUCLEAN"),
            (EHWPOISON, .broken, "EHWPOISON"), (9999, .broken, "errno 9999"),
        ])
    func failure(number: Int32, disposition: Disposition, name: String) {
        let failure = SystemError("read", "/a", Errno(rawValue: number)).failure
        #expect(failure.disposition == disposition)
        let reason = failure.sentence.dropFirst("unable to read /a: ".count)
        #expect(reason == name || reason.hasSuffix(" (\(name))"))
        #expect(failure.cause == name)
    }

    @Test("a file that may not be opened names the account and the reason")
    func noAccess() throws {
        let failure = SystemError("open", "/no/such", .noAccess).failure
        #expect(failure.sentence.hasPrefix("unable to open /no/such: "))
        #expect(failure.sentence.contains("the folder / "))
        #expect(failure.cause == "EACCES")
        let folder = TemporaryFolder()
        let own = SystemError("list", folder.path, .noAccess).failure
        #expect(own.sentence.contains("its mode gives its owner, "))
    }
}
