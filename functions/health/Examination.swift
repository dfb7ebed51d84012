import Edge
import JSON
import JWT
import PushServices
import Spool
import Store
import Turnstone
import Unix

/// Finds faults that stop pushes. It reads a few files, however many users there are. It does not ask
/// Online-Go.com or a push service: otherwise an outage there would make this look down.
struct Examination {
    private let state: State
    private let spool: Spool
    private let variables: Variables
    private let now: Timestamp

    /// Whatever is older than this is overdue: timers start programs every 30 s, and a drainer needs a while
    /// for a large queue.
    private static let patience = Interval.minutes(5)
    /// The space that a drainer reserves for receipts, plus some documents.
    private static let leastRoom: UInt64 = 4 << 20

    init(_ state: State, _ request: Request) {
        self.state = state
        spool = Spool(state: state.folder)
        variables = request.variables
        now = request.time
    }

    func problems() throws(Failure) -> [Problem] {
        var problems: [Problem] = []
        if let sentence = variables.malformedLine {
            problems.append(Problem(configurationFault: .misconfigured(sentence)))
        }
        for check in [delivery, ogs, turns, webTokens, keys, templates, limits] {
            do throws(Failure) { try check() } catch {
                problems.append(Problem(configurationFault: error))
            }
        }
        do throws(Failure) { try state.tryToWrite() } catch {
            problems.append(
                Problem(
                    "not writable", error.sentence,
                    action:
                        "Make the state folder writable. If it was replaced while services ran, restart them."
                ))
        }
        for find in [
            room, cycle, answers, oldest, stops, failures, refusals, drainer, pause, failed,
            setAside,
            unusable, links, folders,
        ] {
            do throws(Failure) { problems += try find() } catch {
                problems.append(Problem(stateFault: error))
            }
        }
        return problems
    }

    private func delivery() throws(Failure) {
        _ = try DeliverySettings(variables)
        _ = try Spool.startsDrainers(variables)
    }

    private func ogs() throws(Failure) {
        _ = try CertificateFile.path(in: variables, "OGS_CA_FILE")
        _ = try variables.ogsAddress()
        _ = try variables.ogsContact()
        _ = try state.requestsPerSecond(variables)
    }

    private func turns() throws(Failure) {
        _ = try TurnSettings(variables)
        _ = try state.checkInterval(variables)
    }

    /// The server keys and allowed origins. Each may be unset: then nobody may call that way.
    private func keys() throws(Failure) {
        _ = try variables.serverKeys()
        _ = try AllowedOrigins(variables)
    }

    private func limits() throws(Failure) {
        _ = try state.quotas()
        _ = try state.callerRequestsPerMinute()
    }

    /// An installation without either variable accepts no JSON Web Tokens.
    private func webTokens() throws(Failure) {
        guard variables.text("JWT_SECRET") != nil || variables.text("JWT_PUBLIC_KEY_PATH") != nil
        else { return }
        _ = try JWTSettings(variables)
    }

    /// Throws unless each file of `EVENT_TEMPLATES` is a JSON object. `events` reports what is wrong inside
    /// it.
    private func templates() throws(Failure) {
        let variable = "EVENT_TEMPLATES"
        guard let folder = variables.text(variable) else { return }
        var names: [String] = []
        do throws(SystemError) {
            _ = try FileDescriptor.open(folder, .folder)
            names = try Files.names(in: folder).sorted()
        } catch {
            throw variables.wrong(
                variable, "cannot read the folder \(folder): \(error.errno.reasonForFolder)")
        }
        for name in names where name.utf8.suffix(5).elementsEqual(".json".utf8) {
            let path = "\(folder)/\(name)"
            var text: [UInt8]?
            do throws(SystemError) { text = try Files.contents(ofOperatorFile: path) } catch {
                throw variables.wrong(
                    variable, "cannot read the file \(path): \(error.errno.reasonForFile)")
            }
            var members: JSONObject?
            do throws(JSONError) {
                members = try text.flatMap { (text) throws(JSONError) in try JSON.parse(text).object
                }
            } catch {}
            guard members != nil else {
                throw variables.wrong(variable, "the file \(path) must hold a JSON object")
            }
        }
    }

    private func room() throws(Failure) -> [Problem] {
        let room = try systemCalls(Files.room(at: state.folder))
        guard room.bytes < Self.leastRoom || room.files < 100 else { return [] }
        return [
            Problem(
                "disk full", "The disk that holds the state folder is full.",
                action: "Free some space. Accepted notifications are safe.",
                [
                    "bytes": .integer(Int64(clamping: room.bytes)),
                    "files": .integer(Int64(clamping: room.files)),
                ])
        ]
    }

    private func cycle() throws(Failure) -> [Problem] {
        guard let first = try state.watchesSince() else { return [] }
        let interval = Interval.seconds(Int64(try state.checkInterval(variables)) * 4)
        let patience = max(Self.patience, interval)
        let last = try state.lastCycle()
        guard now - (last ?? first) > patience || last.map({ $0 - now > .minutes(1) }) == true
        else {
            return []
        }
        let action =
            "Start check-turns every 30 seconds: systemctl enable --now turnstone-check-turns@APP.timer. If it runs, its log says why it fails."
        guard let last else {
            return [Problem("no cycle", "check-turns has never completed a cycle.", action: action)]
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
        guard let oldest = try spool.oldestDue(at: now), now - oldest > Self.patience else {
            return []
        }
        return [
            Problem(
                "delivery late", "A notification has been ready to be sent since \(text(oldest)).",
                action:
                    "Start deliver: systemctl enable --now turnstone-deliver@APP.path turnstone-deliver@APP.timer. If it runs, its log says why it fails.",
                ["since": .string(text(oldest))])
        ]
    }

    private func stops() throws(Failure) -> [Problem] {
        let stops = try state.deliveryStops()
        guard !stops.isEmpty else { return [] }
        var isAnythingWaiting = try spool.hasReady()
        if !isAnythingWaiting { isAnythingWaiting = try spool.hasPutOff() }
        // A failed connection is tried again when there is something to send.
        return stops.filter { $0.until != nil || isAnythingWaiting }.map { stop in
            Problem(
                "delivery stopped", "Nothing is sent through \(stop.service): \(stop.reason).",
                action:
                    "Correct the key, the team or the topic, or the connection. Accepted notifications wait.",
                [
                    "service": .string(stop.service), "reason": .string(stop.reason),
                    "since": .string(text(stop.since)),
                ])
        }
    }

    /// Links whose target does not exist, for example on a disk that is not mounted.
    private func links() throws(Failure) -> [Problem] {
        var problems: [Problem] = []
        let inside = ["", "/spool", "/spool/ready", "/messages"]
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

    /// Files in the place of folders: everything that would be in such a folder counts as missing.
    private func folders() throws(Failure) -> [Problem] {
        let others = [
            "receipts", "spool", "spool/held", "spool/waiting", "spool/ready", "spool/ready/urgent",
            "spool/ready/normal", "spool/ready/backlog", "spool/ready/bulk",
        ]
        var problems: [Problem] = []
        for shelf in State.shelves + ["messages"] {
            let folder = "\(state.folder)/\(shelf)"
            var names: [String] = []
            do throws(SystemError) { names = try Files.names(in: folder) } catch {
                guard let problem = problem(ofFolder: folder, error) else { throw error.failure }
                problems.append(problem)
            }
            // Folders of users and the like are named by two digits of a digest, those of messages by the
            // day.
            for name in names where [2, 10].contains(name.utf8.count) {
                let path = "\(folder)/\(name)"
                let isLink = shelf != "messages" && Files.target(ofLink: path) != nil
                if let problem = problem(ofFolder: path, orLink: isLink) {
                    problems.append(problem)
                }
            }
        }
        return problems + others.compactMap { problem(ofFolder: "\(state.folder)/\($0)") }
    }

    /// `nil` if the path is a folder or does not exist.
    ///
    /// - Parameter isLink: whether it is a link, whose target may be missing.
    private func problem(ofFolder path: String, orLink isLink: Bool = false) -> Problem? {
        do throws(SystemError) {
            _ = try FileDescriptor.open(path, .folder)
            return nil
        } catch { return problem(ofFolder: path, error, orLink: isLink) }
    }

    /// `nil` unless the error says that the path is not a folder.
    private func problem(
        ofFolder path: String, _ error: SystemError, orLink isLink: Bool = false
    ) -> Problem? {
        let isMissing = isLink && error.errno == .noEntry
        guard isMissing || [.notDirectory, .loop].contains(error.errno) else { return nil }
        return Problem(
            "no folder", "\(path) cannot be used as a folder: \(error.errno.reasonForFolder).",
            action: "Put the folder back, or remove what is in its place.",
            ["file": .string(path)])
    }

    private func failures() throws(Failure) -> [Problem] {
        let failures = try state.deliveryFailures().filter { now - $0.since > Self.patience }
        // If nothing waits for the service any more, nobody has asked it again.
        guard !failures.isEmpty, try spool.hasPutOff() else { return [] }
        return failures.map { failure in
            Problem(
                "delivery failing",
                "Since \(text(failure.since)), \(failure.service) has been asked and has answered no push: \(failure.reason).",
                action:
                    "Accepted notifications wait and are tried again. If it lasts, check the push service's status page.",
                [
                    "service": .string(failure.service), "reason": .string(failure.reason),
                    "since": .string(text(failure.since)),
                ])
        }
    }

    private func refusals() throws(Failure) -> [Problem] {
        var settings: String?
        // Another problem reports what is wrong with the configuration.
        do throws(Failure) { settings = try DeliverySettings(variables).apns?.fingerprint } catch {}
        return try state.refusals().filter {
            $0.settings == settings && $0.users >= State.Refusals.alarmThreshold
        }.map { refusals in
            Problem(
                "pushes refused",
                "With these settings, \(refusals.service) has accepted no push and refused those to \(refusals.users == State.Refusals.maximumUsers ? "at least " : "")\(refusals.users) users: \(refusals.reason).",
                action: "Correct the topic (APNS_BUNDLE_ID), the key's team, or APNS_ENVIRONMENT.",
                [
                    "service": .string(refusals.service), "reason": .string(refusals.reason),
                    "since": .string(text(refusals.since)),
                ])
        }
    }

    private func drainer() throws(Failure) -> [Problem] {
        guard let stuck = try spool.stuckDrainer(at: now) else { return [] }
        return [
            Problem(
                "drainer stuck",
                "deliver (process \(stuck.process)) holds its lock and has done nothing since \(text(stuck.since)).",
                action: "Find out what it waits for, and end it. Nothing is lost.",
                [
                    "process": .integer(Int64(stuck.process)), "since": .string(text(stuck.since)),
                ])
        ]
    }

    private func pause() throws(Failure) -> [Problem] {
        guard let backOff = try state.backOff(), backOff.isActive(at: now) else { return [] }
        return [
            Problem(
                "Online-Go.com paused",
                "Online-Go.com has asked for a pause: no games are looked at until \(text(backOff.until)).",
                action: "Wait. If it happens often, lower OGS_REQUESTS_PER_SECOND.",
                ["until": .string(text(backOff.until))])
        ]
    }

    private func failed() throws(Failure) -> [Problem] {
        let names = try spool.failed()
        guard let first = names.min() else { return [] }
        return [
            Problem(
                "notifications set aside",
                "\(names.count) notifications could not be read and were moved to spool/failed, such as \(first).",
                action:
                    "Repair them and move them to spool/ready/normal, or delete them. The log says what was wrong.",
                ["files": .integer(Int64(names.count))])
        ]
    }

    private func setAside() throws(Failure) -> [Problem] {
        let names = try state.setAside()
        guard !names.isEmpty else { return [] }
        return [
            Problem(
                "documents set aside",
                "\(names.count) documents were damaged and set aside: \(names.prefix(10).joined(separator: ", ")).",
                action:
                    "Restore each from a backup, empty its .lock file, and remove the damaged copy.",
                ["files": .integer(Int64(names.count))])
        ]
    }

    private func unusable() throws(Failure) -> [Problem] {
        let files = try state.unusable()
        guard !files.isEmpty else { return [] }
        let list = files.prefix(10).map { "\($0.name) (\($0.reason))" }.joined(separator: ", ")
        return [
            Problem(
                "files unusable",
                "\(files.count) files or folders of the state folder cannot be used: \(list).",
                action:
                    "Give them back to the account that runs Turnstone (chown, chmod), restore them from a backup, or remove them.",
                ["files": .integer(Int64(files.count))])
        ]
    }

    private func text(_ moment: Timestamp) -> String { CalendarDate(moment).text }
}
