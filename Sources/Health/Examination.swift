import Edge
import Queueing
import Spool
import Store
import Turnstone
import Unix

/// Finds faults that stop pushes. It reads a few files, however many users there are. It does not ask
/// Online-Go.com or a push service: otherwise an outage there would make this look down.
package struct Examination {
    let state: State
    let spools: Spools
    let variables: Variables
    let now: Timestamp

    /// Whatever is older than this is overdue: timers start programs every 30 s, and a drainer needs a while
    /// for a large queue.
    static let patience = Interval.minutes(5)
    /// The space that each queue's drainer reserves for receipts, which leaves some for documents.
    private var leastRoom: UInt64 {
        let services = [PushService.apns, .fcm, .web].count { state.services.contains($0) }
        return UInt64(services * state.shards) * 4 << 20
    }
    private static let leastFiles: UInt64 = 100

    package init(_ state: State, _ request: Request) {
        self.state = state
        spools = state.spools
        variables = request.variables
        now = request.time
    }

    @export(interface)
    package func problems() -> [Problem] {
        var found: [Problem] = []
        // Several examinations meet the same file, or the same setting.
        for problem in all() where !found.contains(where: { $0.members == problem.members }) {
            found.append(problem)
        }
        return found
    }

    private func all() -> [Problem] {
        var problems = configurationProblems()
        problems += writing()
        let folders = UnusableFolders(of: state)
        var faults = folders.faults
        for find in [
            cycle, answers, oldest, stops, failures, refusals, unconfigured, drainer, pause, failed,
            setAside, links,
        ] {
            do throws(Failure) { problems += try find() } catch {
                if !folders.explain(error) { faults.append(error) }
            }
        }
        var files = folders.closed.map { (name: $0, reason: Errno.noAccess.name) }
        for find in [unreadableReceipts, state.unusable] {
            do throws(Failure) {
                for file in try find() where !files.contains(where: { $0.name == file.name }) {
                    files.append(file)
                }
            } catch { if !folders.explain(error) { faults.append(error) } }
        }
        return problems + faults.map { Problem(stateFault: $0, of: state.folder) }
            + unusable(files) + folders.replaced
    }

    /// What pushes became of is read from these, by reports, the timeline and the statistics.
    private func unreadableReceipts() throws(Failure) -> [(name: String, reason: String)] {
        try spools.unreadableReceipts(until: .now + .milliseconds(500)).compactMap { (failure) in
            failure.file.map {
                (String($0.dropFirst(state.folder.utf8.count + 1)), failure.cause)
            }
        }
    }

    /// Whether files can be written and how much room is left for them. A full disk is one problem, not two.
    private func writing() -> [Problem] {
        var fault: Failure?
        do throws(Failure) { try state.tryToWrite() } catch { fault = error }
        let isFull = fault?.cause == Errno.noSpace.name
        var problems: [Problem] = []
        do throws(Failure) { problems = try room(isFull: isFull) } catch {
            problems.append(Problem(stateFault: error, of: state.folder))
        }
        guard let fault, !isFull else { return problems }
        let action =
            switch fault.cause {
            case Errno.readOnly.name:
                """
                Mount its disk so that it can be written. If the folder was replaced while services ran, \
                restart them.
                """
            case Errno.noAccess.name: Remedy.access.action(in: state.folder)
            default:
                "Make the state folder writable. If it was replaced while services ran, restart them."
            }
        return [Problem("not writable", fault.sentence, action: action)] + problems
    }

    private func room(isFull: Bool) throws(Failure) -> [Problem] {
        let room = try systemCalls(Files.room(at: state.folder))
        guard isFull || room.bytes < leastRoom || room.files < Self.leastFiles else {
            return []
        }
        let files = room.files == .max ? "" : " and \(room.files) files"
        return [
            Problem(
                "disk full",
                """
                The disk that holds \(state.folder) has room for \(room.bytes >> 10) KiB\(files). \
                Turnstone needs \(leastRoom >> 20) MiB and \(Self.leastFiles) files.
                """,
                action:
                    "Remove files from this disk or enlarge it. Accepted notifications are safe.",
                [
                    "bytes": .integer(Int64(clamping: room.bytes)),
                    "files": .integer(Int64(clamping: room.files)),
                ])
        ]
    }

    private func cycle() throws(Failure) -> [Problem] {
        guard let first = try state.watchesSince() else { return [] }
        let patience = max(Self.patience, try state.checkInterval(variables) * 4)
        let last = try state.lastCycle()
        guard now - (last ?? first) > patience || last.map({ $0 - now > .minutes(1) }) == true
        else {
            return []
        }
        let action =
            """
            Start check-turns every 30 seconds: systemctl enable --now turnstone-check-turns@APP.timer. \
            If it runs, its log says why it fails.
            """
        guard let last else {
            return [
                Problem(
                    "no cycle", "There is no record that check-turns has ever completed a cycle.",
                    action: action)
            ]
        }
        return [
            Problem(
                "no cycle", "check-turns has not completed a cycle since \(text(last)).",
                action: action, ["since": .string(text(last))])
        ]
    }

    private func answers() throws(Failure) -> [Problem] {
        guard let since = try state.unansweredSince(), now - since > Self.patience else {
            return []
        }
        return [
            Problem(
                "no answers",
                "Since \(text(since)), Online-Go.com has answered for none of the players it knew before.",
                action:
                    "Check that it answers at OGS_BASE_URL. The log of check-turns has the reasons.",
                ["since": .string(text(since))])
        ]
    }

    private func oldest() throws(Failure) -> [Problem] {
        guard let oldest = try spools.oldestDue(at: now), now - oldest > Self.patience else {
            return []
        }
        var service = PushService.apns
        for spool in try spools.all() {
            if try spool.oldestDue(at: now) == oldest { service = spool.service }
        }
        let unit = service == .apns ? "turnstone-deliver" : "turnstone-deliver-\(service.rawValue)"
        return [
            Problem(
                "delivery late", "A notification has been ready to be sent since \(text(oldest)).",
                action:
                    """
                    Start \(service.drainerProgram): systemctl enable --now \(unit)@APP.path \
                    \(unit)@APP.timer. If it runs, its log says why it fails.
                    """,
                ["since": .string(text(oldest))])
        ]
    }

    /// Links whose target does not exist, for example on a disk that is not mounted.
    private func links() throws(Failure) -> [Problem] {
        var problems: [Problem] = []
        var inside = ["", "/spool", "/messages", "/receipts"]
        for spool in try spools.all() { inside += ["/\(spool.name)", "/\(spool.name)/ready"] }
        for folder in inside.map({ state.folder + $0 }) {
            problems += try systemCalls { () throws(SystemError) in
                var broken: [Problem] = []
                for name in try Files.namesOfPossibleLinks(in: folder) {
                    let path = "\(folder)/\(name)"
                    guard let target = Files.target(ofLink: path), isBroken(path) else { continue }
                    broken.append(
                        Problem(
                            "broken link", "\(path) is a link to \(target), which does not exist.",
                            action: "Mount the disk that it leads to, or remove the link.",
                            ["file": .string(path)]))
                }
                return broken
            }
        }
        return problems
    }

    private func isBroken(_ path: String) -> Bool {
        // Another check reports what cannot be examined.
        do throws(SystemError) { return try !Files.exists(path) } catch { return false }
    }

    private func drainer() throws(Failure) -> [Problem] {
        var problems: [Problem] = []
        for spool in try spools.all() {
            guard let stuck = try spool.stuckDrainer(at: now) else { continue }
            // A process of that number on this machine is another one.
            let place = stuck.host.map { " on \($0)" } ?? ""
            var members: JSONObject = [
                "process": .integer(Int64(stuck.process)), "since": .string(text(stuck.since)),
            ]
            if let host = stuck.host { members["host"] = .string(host) }
            problems.append(
                Problem(
                    "drainer stuck",
                    """
                    \(spool.service.drainerProgram) (process \(stuck.process)\(place)) holds the lock of \
                    \(spool.name) and has done nothing since \(text(stuck.since)).
                    """,
                    action:
                        "Run\(place): kill \(stuck.process). Nothing is lost; the next run continues.",
                    members))
        }
        return problems
    }

    private func pause() throws(Failure) -> [Problem] {
        guard let backOff = try state.backOff(), backOff.isActive(at: now) else { return [] }
        let until = text(backOff.until)
        let members: JSONObject = ["until": .string(until)]
        if let reason = backOff.reason {
            return [
                Problem(
                    "Online-Go.com paused",
                    "Turnstone pauses until \(until): \(reason).",
                    action:
                        """
                        Check OGS_BASE_URL and OGS_CA_FILE, and this machine's network. Turnstone asks \
                        again by itself.
                        """,
                    members)
            ]
        }
        return [
            Problem(
                "Online-Go.com paused",
                "Online-Go.com has asked for a pause: no games are looked at until \(until).",
                action: "Wait. If it happens often, lower OGS_REQUESTS_PER_SECOND.", members)
        ]
    }

    private func failed() throws(Failure) -> [Problem] {
        var problems: [Problem] = []
        for spool in try spools.all() {
            let names = try spool.failed()
            guard let first = names.min() else { continue }
            problems.append(
                Problem(
                    "notifications set aside",
                    names.count == 1
                        ? """
                        A notification could not be read and was moved to \(spool.name)/failed: \(first).
                        """
                        : """
                        \(names.count) notifications could not be read and were moved to \
                        \(spool.name)/failed, such as \(first).
                        """,
                    action:
                        """
                        Delete each, or repair it as Sources/Spool/FORMAT.md describes and move it to \
                        \(spool.name)/ready/normal. A held message (-held.jsonl) cannot be put back: send its text again.
                        """,
                    ["files": .integer(Int64(names.count))]))
        }
        return problems
    }

    private func setAside() throws(Failure) -> [Problem] {
        let names = try state.setAside()
        let needless = names.filter { State.isDispensable($0) }
        let others = names.filter { !State.isDispensable($0) }
        return setAside(
            others,
            action:
                """
                Restore each from a backup or go on without it. In both cases leave an empty lock file, as \
                the programs' account (truncate -s 0 NAME.json.lock), and remove the copy.
                """
        ) + setAside(needless, action: "Delete each copy. The document has begun anew.")
    }

    private func setAside(_ names: [String], action: String) -> [Problem] {
        guard !names.isEmpty else { return [] }
        return [
            Problem(
                "documents set aside",
                """
                \(names.count == 1 ? "A document was" : "\(names.count) documents were") damaged and set \
                aside: \(list(names)).
                """,
                action: action, ["files": .integer(Int64(names.count))])
        ]
    }

    /// One problem for each remedy, so that no action is for another fault.
    private func unusable(_ files: [(name: String, reason: String)]) -> [Problem] {
        Remedy.all.compactMap { (remedy) in
            let names = files.filter { Remedy(cause: $0.reason) == remedy }
                .map { "\($0.name) (\($0.reason))" }
            guard !names.isEmpty else { return nil }
            return Problem(
                "files unusable",
                names.count == 1
                    ? "This file or folder of \(state.folder) cannot be used: \(list(names))."
                    : "\(names.count) files or folders of \(state.folder) cannot be used: \(list(names)).",
                action: remedy.action(in: state.folder), ["files": .integer(Int64(names.count))])
        }
    }

    /// At most ten names.
    private func list(_ names: [String]) -> String { names.prefix(10).joined(separator: ", ") }

    func text(_ moment: Timestamp) -> String { CalendarDate(moment).text }
}
