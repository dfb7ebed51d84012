import JSON
import Turnstone
import Unix

/// The findings of `storage-test` about the file system of a state folder: the contents of `storage.json`.
///
/// It counts only in the file that it was written to, as a lock file's number does: a copy on another file
/// system says nothing about that one.
package struct StorageRecord {
    package let mount: Mount
    /// The only machine that may use the folder, if the test had one mount: it cannot show what a second
    /// machine would see. `nil` if it had two.
    package let machine: String?
    /// When the test ended.
    package let at: Timestamp

    package init(of mount: Mount, onlyFor machine: String?, at moment: Timestamp) {
        self.mount = mount
        self.machine = machine
        at = moment
    }

    /// Version 1 is of a storage-test that tried other things.
    private static let version: Int64 = 2

    package static func path(in folder: String) -> String { "\(folder)/storage.json" }

    /// - Returns: `nil` if there is none, or it does not belong to this file system.
    @export(interface)
    package static func read(in folder: String) throws(Failure) -> StorageRecord? {
        try systemCalls { () throws(SystemError) in
            do throws(SystemError) {
                let file = try FileDescriptor.open(path(in: folder), .read)
                let bytes = try file.readToEnd(limit: 1 << 16)
                return StorageRecord(bytes, inode: try file.identity().inode)
            } catch {
                guard [.noEntry, .tooLarge].contains(error.errno) else { throw error }
                return nil
            }
        }
    }

    private init?(_ bytes: [UInt8], inode: Int64) {
        var parsed: JSONObject?
        do throws(JSONError) { parsed = try JSON.parse(bytes).object } catch {}
        guard let members = parsed, members["version"]?.integer == Self.version,
            members["inode"]?.integer == inode,
            let kind = members["file_system"]?.string, let options = members["options"]?.array,
            let at = members["at"]?.timestamp, let machines = members["machines"]?.string
        else { return nil }
        switch machines {
        case "several": machine = nil
        case "one":
            guard let host = members["host"]?.string else { return nil }
            machine = host
        default: return nil
        }
        mount = Mount(kind: kind, options: options.compactMap { $0.string })
        self.at = at
    }

    /// Writes it durably. Only `storage-test` does.
    @export(interface)
    package func write(in folder: String, rounds: Int) throws(Failure) {
        try systemCalls { () throws(SystemError) in
            let path = Self.path(in: folder)
            let file = try Files.openTemporary(for: path)
            var members: JSONObject = [
                "version": .integer(Self.version), "at": JSONValue(at),
                "file_system": .string(mount.kind),
                "options": .array(mount.options.map { .string($0) }),
                "machines": machine == nil ? "several" : "one",
                "rounds": .integer(Int64(rounds)),
                "inode": .integer(try file.identity().inode),
            ]
            if let machine { members["host"] = .string(machine) }
            try file.write(JSON.text(.object(members)) + [UInt8(ascii: "\n")])
            try file.synchronize()
            try Files.commit(path)
        }
    }
}

extension State {
    /// The cause of ``checkStorage()``'s failure.
    package static let untested = "storage"

    /// Refuses this machine's own disk if the configuration says that machines share the folder
    /// (`TURNSTONE_STORAGE=shared`): it is what is there while the file system is not mounted.
    @export(interface)
    func checkIsShared() throws(Failure) {
        let name = "TURNSTONE_STORAGE"
        guard let value = variables.text(name) else { return }
        guard value == "shared" else {
            throw variables.wrong(name, "must be shared, or not be set")
        }
        // The folder itself may not be there yet.
        var path = folder
        while true {
            do throws(SystemError) {
                guard try sharedMount(path) == nil else { return }
                break
            } catch {
                guard error.errno == .noEntry, path != "/", let slash = path.lastIndex(of: "/")
                else { throw error.failure }
                path = slash == path.startIndex ? "/" : String(path[..<slash])
            }
        }
        throw Failure(
            .misconfigured,
            """
            unable to use \(folder): it is on this machine's own disk, but \(name)=shared says that machines \
            share it. Mount its file system
            """, cause: Self.untested)
    }

    /// Refuses a file system that may belong to several machines, unless `storage-test` has tried it and its
    /// clock is this machine's.
    ///
    /// - Returns: whether it is this machine's alone.
    /// - Throws: misconfigured; the sentence names the command.
    @export(interface)
    func checkStorage() throws(Failure) -> Bool {
        guard let mount = try systemCalls(sharedMount(folder)) else { return true }
        guard let fault = try faultOfStorage(mount) else {
            try checkClock()
            return false
        }
        let several = "storage-test \(folder) SECOND-MOUNT"
        throw Failure(
            .misconfigured,
            """
            unable to use \(folder): it is on \(mount.kind), which is not a local file system, and \(fault.reason). \
            Run: \(fault.isForAnother ? several : "storage-test \(folder), or \(several) if several machines use it")
            """, cause: Self.untested)
    }

    /// The mount of a path; `nil` if its file system is this machine's own.
    private func sharedMount(_ path: String) throws(SystemError) -> Mount? {
        guard try !FileSystem(at: path).isLocal else { return nil }
        let mount = try Mount(at: path)
        return mount.isLocal ? nil : mount
    }

    /// How far the clock of the file system and this machine's may differ. `storage-test` asks for the same.
    package static let clockTolerance = Interval.minutes(1)

    /// The system's clock counts here, even if `TURNSTONE_NOW` stops that of the programs.
    private func checkClock() throws(Failure) {
        guard let ahead = FileSystem.clockDistance(at: StorageRecord.path(in: folder)),
            ahead.magnitude >= UInt64(Self.clockTolerance.milliseconds)
        else { return }
        throw Failure(
            .misconfigured,
            """
            unable to use \(folder): the clock of its file system is \(ahead.magnitude / 1000) s \
            \(ahead > 0 ? "ahead of" : "behind") this machine's. Set both by NTP
            """, cause: Self.untested)
    }

    /// - Returns: `nil` if the test's record fits.
    private func faultOfStorage(
        _ mount: Mount
    ) throws(Failure) -> (reason: String, isForAnother: Bool)? {
        guard let record = try StorageRecord.read(in: folder) else {
            return ("storage-test has not passed on it", false)
        }
        guard record.mount == mount else {
            return ("storage-test has passed with another mount or other options", false)
        }
        guard record.machine == nil || record.machine == ThisMachine.name else {
            return (
                "storage-test has passed with one mount, for one machine, which is not this one",
                true
            )
        }
        return nil
    }
}
