import Documents
import JSON
import Turnstone
import Unix

// The facts that `health` needs, recorded where they happen, so that it reads a few files and never all
// users.

extension State {
    private var cyclePath: String { "\(folder)/cycle.json" }

    /// Records that a cycle of `check-turns` has completed. Not synced: the next record comes in half a
    /// minute.
    ///
    /// - Parameters:
    ///   - isAnswered: whether OGS answered for any player whom it knew before; `nil` if none was asked
    ///     about.
    ///   - summary: what the cycle did, as it prints it.
    ///   - duration: how long it took.
    @export(interface)
    package func recordCycle(
        at now: Timestamp, isAnswered: Bool?, summary: JSONObject, took duration: Interval
    ) throws(Failure) {
        try Lock.holding(cyclePath) { (_) throws(Failure) in
            let known = try cycleRecord() ?? [:]
            let unanswered = known["unanswered_since"]?.timestamp
            var cycle: JSONObject = [
                "at": JSONValue(now), "took": .integer(duration.milliseconds),
            ]
            for member in summary.members where member.value != 0 {
                cycle.append(member.name, member.value)
            }
            let cycles = (known["cycles"]?.array ?? []).suffix(Self.cyclesKept - 1)
            var record: JSONObject = [
                "version": 1, "completed_at": JSONValue(now),
                "cycles": .array(cycles + [.object(cycle)]),
            ]
            switch isAnswered {
            case true?: break
            case false?: record["unanswered_since"] = JSONValue(min(unanswered ?? now, now))
            case nil: record["unanswered_since"] = unanswered.map { JSONValue($0) }
            }
            try systemCalls(
                Files.replace(
                    cyclePath, with: JSON.text(.object(record)) + [UInt8(ascii: "\n")],
                    durably: false))
        }
    }

    /// How many cycles are remembered: ten minutes' with a cycle every half minute.
    private static let cyclesKept = 20

    /// The last cycles, oldest first, as they are stored: when each began, how long it took, and what it did.
    @export(interface)
    package func lastCycles() throws(Failure) -> [JSONObject] {
        guard let record = try cycleRecord() else {
            throw Failure(
                .broken, "unable to read \(cyclePath): it is damaged. The next cycle mends it",
                cause: FailureCause.corrupt)
        }
        return (record["cycles"]?.array ?? []).compactMap { $0.object }
    }

    /// When the last cycle completed; `nil` if none has, or the record is lost. Of a damaged record, only the
    /// file's time is known.
    package func lastCycle() throws(Failure) -> Timestamp? {
        if let record = try cycleRecord() { return record["completed_at"]?.timestamp }
        return try systemCalls(Files.stamp(of: cyclePath)).map { Timestamp(seconds: $0.seconds) }
    }

    /// When cycles began to find out nothing about players whom OGS knew before.
    package func unansweredSince() throws(Failure) -> Timestamp? {
        try cycleRecord()?["unanswered_since"]?.timestamp
    }

    /// - Returns: `nil` for a record that is damaged: it is not synced.
    private func cycleRecord() throws(Failure) -> JSONObject? {
        guard let bytes = try systemCalls(Files.contents(cyclePath)) else { return [:] }
        do throws(JSONError) { return try JSON.parse(bytes).object } catch { return nil }
    }

    /// Since when there are players to look at, by the system's clock; `nil` if there are none.
    package func watchesSince() throws(Failure) -> Timestamp? {
        try systemCalls { () throws(SystemError) in
            if try watch.isAny() {
                let birth = try FileDescriptor.open(watch.folder, .folder).identity().birth
                if birth > 0 { return Timestamp(milliseconds: birth / 1_000_000) }
                return try Files.changed(watch.folder)
            }
            // Players whom an earlier version looked at have no marks before the first cycle.
            let index = PlayerIndex.path(in: self)
            guard try Files.exists(index) else { return nil }
            let file = try FileDescriptor.open(index, .read)
            guard FirstPlayerIndex.isOne(try file.read(upTo: 8)), try file.size() > 128 else {
                return nil
            }
            return try Files.changed("\(index).lock")
        }
    }

    /// The damaged documents that were set aside and whose copies still exist, by their paths below the
    /// folder.
    @export(interface)
    package func setAside() throws(Failure) -> [String] {
        var names: [String] = []
        for fault in try recordedFaults() where fault.reason == nil {
            guard let name = try inside(fault.file), !names.contains(name) else { continue }
            names.append(name)
        }
        return names
    }

    /// Whether a document that was set aside is one that begins anew by itself.
    package static func isDispensable(_ copy: String) -> Bool {
        ["ogs.json.", "delivery.json."].contains { copy.utf8.starts(with: $0.utf8) }
    }

    /// Files and folders that programs could not use, and that still cannot be used.
    @export(interface)
    package func unusable() throws(Failure) -> [(name: String, reason: String)] {
        let faults = try recordedFaults()
        guard faults.contains(where: { $0.reason != nil }) else { return [] }
        let setAside = try setAside()
        var found: [(name: String, reason: String)] = []
        var locks: [String] = []
        for fault in faults {
            guard let reason = fault.reason,
                !setAside.contains(where: { isCopy($0, of: fault.file) }),
                !found.contains(where: { $0.name == fault.file }), !locks.contains(fault.file)
            else { continue }
            if reason == FailureCause.busy {
                locks.append(fault.file)
            } else if isUnusable(fault.file, reason) {
                found.append((fault.file, reason))
            }
        }
        return found + held(locks).map { ($0, FailureCause.busy) }
    }

    /// Those of the locks that are not free at any moment for two seconds.
    private func held(_ locks: [String]) -> [String] {
        let deadline = Instant.now + .seconds(2)
        var left = locks
        while true {
            left.removeAll { !isHeld("\(folder)/\($0)") }
            guard !left.isEmpty, Instant.now < deadline else { return left }
            sleep(for: .milliseconds(20))
        }
    }

    /// Whether a lock is held, or cannot be tried.
    private func isHeld(_ path: String) -> Bool {
        do throws(SystemError) { return try FileDescriptor.open(path, .overwrite).isLocked() } catch
        {
            return ![.noEntry, .notDirectory].contains(error.errno)
        }
    }

    private func recordedFaults() throws(Failure) -> [(file: String, reason: String?)] {
        var faults: [(file: String, reason: String?)] = []
        for name in UnusableFiles.names.reversed() {
            let bytes = try systemCalls(Files.contents("\(folder)/\(name)"))
            for line in (bytes ?? []).split(separator: UInt8(ascii: "\n")).suffix(10_000) {
                var members: JSONObject?
                do throws(JSONError) { members = try JSON.parse(Array(line)).object } catch {}
                guard let file = members?["file"]?.string else { continue }
                faults.append((file, members?["reason"]?.string))
            }
        }
        return faults
    }

    /// Whether a recorded fault still exists.
    private func isUnusable(_ name: String, _ reason: String) -> Bool {
        let path = "\(folder)/\(name)"
        let isLock = path.utf8.suffix(5).elementsEqual(".lock".utf8)
        do throws(SystemError) {
            let file = try FileDescriptor.open(path, isLock ? .overwrite : .read)
            switch reason {
            case FailureCause.corrupt, FailureCause.newer:
                return !isDocument(try file.readToEnd(limit: Files.longest))
            case FailureCause.stale:
                return isStale(path, try file.readToEnd(limit: Files.longest))
            case Errno.inputOutput.name, Errno.tooLarge.name, FailureCause.faulty:
                _ = try file.readToEnd(limit: Files.longest)
                return false
            // It may still be in the place of a folder.
            case Errno.notDirectory.name: return !Self.isNameOfFile(name)
            default: return false
            }
        } catch {
            switch error.errno {
            case .notDirectory where reason == Errno.notDirectory.name: return true
            case .noEntry, .notDirectory:
                return Files.target(ofLink: path) != nil || reason == "missing" && isMissing(path)
                    || reason == Errno.noAccess.name && !Files.isWritable(folder(above: path))
            case .isFolder: return Self.isNameOfFile(name) || !isFolderUsable(path)
            default: return true
            }
        }
    }

    /// The nearest folder above a file that exists or cannot be examined.
    private func folder(above path: String) -> String {
        let parent = Files.parent(of: path)
        guard parent.utf8.count > folder.utf8.count else { return folder }
        do throws(SystemError) { if try Files.exists(parent) { return parent } } catch {
            return parent
        }
        return folder(above: parent)
    }

    private func isCopy(_ copy: String, of name: String) -> Bool {
        copy.utf8.starts(with: "\(name).corrupt-".utf8)
    }

    /// The newest version of any document: the format of its kind, which is not that of the folder.
    private static let newestDocument = max(User.version, DeviceTransfer.version)

    private func isDocument(_ bytes: [UInt8]) -> Bool {
        do throws(JSONError) {
            let members = try JSON.parse(bytes, depthLimit: JSON.storedDepthLimit).object
            return members?["version"]?.integer.map { $0 <= Self.newestDocument } ?? false
        } catch { return false }
    }

    /// Whether a path below the state folder is a file's. No folder's name has a dot; of the files, only marks of
    /// players, cancellations and the count of erasures have none.
    package static func isNameOfFile(_ name: String) -> Bool {
        let parts = name.utf8.split(separator: UInt8(ascii: "/")).map { Array($0) }
        guard let last = parts.last, !last.contains(UInt8(ascii: ".")) else { return true }
        let shelf = parts.count == 3 ? parts[0] : parts.count == 4 ? parts[2] : []
        return shelf == Array("watch".utf8) || shelf == Array("cancelled".utf8)
            || name == "spool/erasures"
    }

    /// Whether a document is older than its lock's number.
    private func isStale(_ path: String, _ bytes: [UInt8]) -> Bool {
        do throws(JSONError) {
            let members = try JSON.parse(bytes, depthLimit: JSON.storedDepthLimit).object
            guard let revision = members?["revision"]?.integer else { return false }
            do throws(Failure) {
                return try Lock.committedRevision(at: lock(ofDocumentAt: path)) > revision
            } catch { return true }
        } catch { return false }  // it is damaged, which another program will find
    }

    private func isMissing(_ path: String) -> Bool {
        do throws(Failure) {
            return try Lock.committedRevision(at: lock(ofDocumentAt: path)) > 0
        } catch {
            return true
        }
    }

    private func isFolderUsable(_ path: String) -> Bool {
        do throws(SystemError) {
            _ = try Files.names(in: path)
            _ = try Files.exists("\(path)/x")
            return true
        } catch { return false }
    }

    /// The path below the state folder. The folder may have had another path when the fault was recorded.
    private func inside(_ path: String) throws(Failure) -> String? {
        let parts = path.utf8.split(separator: UInt8(ascii: "/"))
            .map { String(decoding: Array($0), as: UTF8.self) }
        for count in 1...3 where parts.count >= count {
            let name = parts.suffix(count).joined(separator: "/")
            let isThere = try systemCalls(Files.exists("\(folder)/\(name)"))
            if isThere { return name }
        }
        return nil
    }

    /// Writes a file and removes it.
    @export(interface)
    package func tryToWrite() throws(Failure) {
        let path = "\(folder)/trial.\(ThisProcess.id)"
        defer { Files.remove(path) }
        try systemCalls(FileDescriptor.open(path, .truncate).write([UInt8(ascii: "\n")]))
    }
}
