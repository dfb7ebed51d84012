import CUnix
import Foundation
import JSON
import TestSupport
import Testing
import Turnstone

// A state folder that is replaced while a drainer is at work in it.

extension UnusableFilesTests {
    @Test("a drainer whose state folder is replaced ends, and another one works in the new folder")
    func replaced() throws {
        let lasting = installation.environment.merging(["DELIVER_LINGER_SECONDS": "60"]) { $1 }
        let drainer = try Programs.start(
            "deliver", entries: lasting.map { "\($0.key)=\($0.value)" })
        try wait(until: "the drainer is elected") {
            String(decoding: state.read("spool/apns/drainer.lock") ?? [], as: UTF8.self)
                .contains("beat")
        }
        let old = "\(state.path).old"
        defer { try? FileManager.default.removeItem(atPath: old) }
        try FileManager.default.moveItem(atPath: state.path, toPath: old)
        try FileManager.default.copyItem(atPath: old, toPath: state.path)
        try give()
        let ended = try drainer.end(timeLimit: 20)
        #expect(ended.exitCode == 111, "\(ended.stderr)")
        #expect(ended.stderr.contains("was replaced"), "\(ended.stderr)")
        let name = "spool/apns/ready/normal/\(DamagedSpoolTests.sound).jsonl"
        let message = DamagedSpoolTests.text(DamagedSpoolTests.sound)
        try state.write(message.replacing(DamagedSpoolTests.token, with: Self.ann), to: name)
        try give()
        let next = try Programs.run("deliver", environment: installation.environment)
        #expect(next.exitCode == 0 && next.stdout.contains(#""accepted":1"#), "\(next.stderr)")
    }
}
