import TestSupport
import Testing

/// The log's destination if standard output and standard error are one socket: systemd's journal, or an
/// inetd's connection.
@Suite struct JournalTests {
    @Test("a journal gets the log, a client does not", arguments: [true, false])
    func errors(isJournal: Bool) throws {
        let folder = TemporaryFolder()
        let naming = "export JOURNAL_STREAM=$(stat -L -c %d:%i /dev/fd/3);"
        let script = "exec 2>&1 3>&1; \(isJournal ? naming : "") exec 3>&-; exec \"$0\""
        let ended = try Programs.start(
            at: "/bin/sh", ["-c", script, Programs.path("deliver")],
            entries: [
                "PATH=/usr/bin:/bin", "TURNSTONE_STATE=\(folder.path)", "APNS_KEY_ID=ABCDEFGHIJ",
                "APNS_TEAM_ID=ABCDEFGHIK", "APNS_BUNDLE_ID=org.example.app",
            ]
        ).end()
        #expect(ended.exitCode == 100)
        #expect(ended.stdout.contains("deliver: APNS_KEY_PATH is not set") == isJournal)
        #expect(isJournal || ended.stdout.isEmpty)
    }
}
