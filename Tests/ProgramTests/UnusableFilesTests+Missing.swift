import Foundation
import TestSupport
import Testing

// A document that was damaged or removed, without a backup.

extension UnusableFilesTests {
    private func setBadge() throws -> (answer: Answer, log: String) {
        try ask("badge", "PUT", "/api/badge", #"{"userId":"ann","badge":3}"#)
    }

    @Test(
        "a document without a backup is begun anew once its lock file is empty",
        arguments: [true, false])
    func goOnWithoutABackup(removesCopy: Bool) throws {
        let document = document("ann")
        #expect(try setBadge().answer.status == 200)
        try state.write("{", to: document)
        try give()

        let first = try setBadge()
        #expect(first.answer.status == 500)
        #expect(first.log.contains("it is damaged and was set aside as "), "\(first.log)")
        let copy = try #require(
            state.files().keys.first { $0.hasPrefix("\(document).corrupt-") })
        let second = try setBadge()
        #expect(second.answer.status == 500)
        #expect(second.log.contains(copy), "\(second.log)")
        #expect(try health().contains("go on without it"))

        if removesCopy {
            try state.remove(copy)
            let third = try setBadge()
            #expect(third.answer.status == 500 && third.answer.headers["retry-after"] == nil)
            #expect(third.log.contains("Run: truncate -s 0 "), "\(third.log)")
            let health = try health()
            #expect(health.contains("\(document) (missing)"), "\(health)")
            #expect(health.contains("truncate -s 0") && !health.contains("chown"), "\(health)")
        }
        try state.write("", to: "\(document).lock")
        try give()
        #expect(try setBadge().answer.status == 200)
        if !removesCopy { try state.remove(copy) }
        let body = try health()
        #expect(!body.contains(document), "\(body)")
    }

    @Test(
        "a state folder without access is named with its owner and what helps",
        arguments: [0, 54_322])
    func stateFolder(owner: uid_t) throws {
        let outer = TemporaryFolder()
        chmod(outer.path, 0o755)
        let folder = "\(outer.path)/state"
        mkdir(folder, 0o700)
        chown(folder, owner, owner)
        let ended = try Programs.start(
            at: "/usr/bin/setpriv",
            ["--reuid", "\(Self.account)", "--clear-groups", Programs.path("health")],
            input: Array(#"{"method":"GET","path":"/health"}"#.utf8),
            entries: ["TURNSTONE_STATE=\(folder)", "TURNSTONE_CONFIG=/dev/null"]
        ).end(timeLimit: 20)
        let command = "chown -R \(Self.account): \(folder)"
        let advice =
            owner == 0
            ? "root). Run: \(command)"
            : "uid \(owner)). Run this program as uid \(owner), whose folder it is; or, if Turnstone runs as \(Self.account): \(command)"
        let sentence =
            """
            the account uid \(Self.account) has no access to the state folder \(folder) (EACCES, owned by \(advice)
            """
        #expect(ended.stderr.contains(sentence), "\(ended.stderr)")
    }
}
