import Documents
import JSON
import Turnstone
import Unix

/// The state folder: every document that the programs of one app share.
package struct State {
    package let folder: String
    let variables: Variables
    /// The push services that this installation can reach.
    package let services: PushServiceSet
    /// How many queues each push service has.
    package let shards: Int
    /// Whether the folder is on a file system of this machine alone.
    package private(set) var isLocal = false
    /// What was left of the lock files of version 2 when this program began; `nil` if nothing was.
    private(set) var ownLockPhase: LayoutVersion.OwnLockPhase?

    /// The version of the folder's layout that this program knows.
    static let version = StateLayout.version

    /// Finds the folder (`TURNSTONE_STATE`, else systemd's `STATE_DIRECTORY`, else `/var/lib/turnstone`) and
    /// creates it if it is missing.
    ///
    /// - Throws: a folder of a newer version is refused, and nothing in it is touched. So is one on a file
    ///   system that several machines may share and that `storage-test` has not tried.
    @export(interface)
    package init(_ variables: Variables) throws(Failure) {
        folder = variables.stateFolder
        self.variables = variables
        services = PushServiceSet(reachableWith: variables)
        shards = try variables.shards()
        guard folder.utf8.first == UInt8(ascii: "/") else {
            let name =
                variables.text("TURNSTONE_STATE") == nil ? "STATE_DIRECTORY" : "TURNSTONE_STATE"
            throw variables.wrong(name, "must be an absolute path, such as /var/lib/turnstone")
        }
        try checkIsShared()
        try checkVersion()
        registry.finishTransfers()
    }

    var versionPath: String { "\(folder)/version.json" }

    private mutating func checkVersion() throws(Failure) {
        let path = versionPath
        let found = try version(path)
        if found == nil { try makeFolder() }
        isLocal = try checkStorage()
        let known = if let found { found } else { try make(path) }
        guard known.version <= Self.version else {
            throw Failure(
                .broken,
                "unable to use \(folder): its version \(known.version) is newer than this program's \(Self.version); install a newer Turnstone",
                cause: FailureCause.newer)
        }
        let present = known.version < Self.version ? try migrate(path) : known
        ownLockPhase = present.ownLocks
        // Each program asks: one of version 2 may have begun before the migration and be elected after it.
        if ownLockPhase == .held { askFormerDrainersToEnd() }
    }

    /// The version of the folder's layout; `nil` if the folder is new.
    func version(_ path: String) throws(Failure) -> LayoutVersion? {
        guard let bytes = try contents(path) else { return nil }
        guard let version = LayoutVersion(bytes) else {
            throw Failure(
                .broken,
                "unable to read \(path): not a JSON object with a version; restore it from a backup",
                cause: FailureCause.corrupt)
        }
        return version
    }

    private func makeFolder() throws(Failure) {
        do throws(SystemError) { try Files.makeFolder(folder) } catch {
            throw .misconfigured(
                "unable to create the folder \(folder) (TURNSTONE_STATE): \(error.reason)")
        }
        do throws(SystemError) { _ = try FileDescriptor.open(folder, .folder) } catch {
            guard error.errno == .notDirectory else {
                throw error.failure(error.reason(inState: folder))
            }
            throw Failure(
                .broken,
                "unable to use \(folder) (TURNSTONE_STATE): it is not a folder",
                cause: error.errno.name)
        }
    }

    /// Makes `version.json`, unless another program has made it meanwhile, perhaps one of another version.
    private func make(_ path: String) throws(Failure) -> LayoutVersion {
        try Lock.holding(path) { (_) throws(Failure) in
            if let known = try version(path) { return known }
            let present = LayoutVersion(version: Self.version)
            try systemCalls(Files.replace(path, with: present.text))
            return present
        }
    }

    private func contents(_ path: String) throws(Failure) -> [UInt8]? {
        do throws(SystemError) { return try Files.contents(path) } catch {
            throw error.failure(error.reason(inState: folder))
        }
    }

    /// The folders of documents that programs look up by name.
    package static let shelves = [
        "users", "tokens", "aliases", "keys", "activities", "sessions", "channels", "looks",
        "segments",
    ]

    /// A shelf whose documents share lock files.
    private func shelf<Key, Content>(
        _ name: String, durable: Bool = true, isCache: Bool = false,
        recording: Shelf<Key, Content>.Recording? = nil,
        checkingCopy: Shelf<Key, Content>.CheckingCopy? = nil
    ) -> Shelf<Key, Content> {
        Shelf(
            folder: "\(folder)/\(name)", durable: durable, isCache: isCache,
            isLocal: isLocal, ownLocks: ownLocks, recording: recording,
            checkingCopy: checkingCopy)
    }

    package var users: Shelf<UserID, User> {
        shelf(
            "users",
            recording: { (user, before, after, commit) throws(Failure) in
                if before.isErasing, !after.isErasing { try checkNoErasure(of: user) }
                try audience.recording(user, before, after, commit)
            },
            checkingCopy: { (user, document) throws(Failure) in
                try registry.withoutLostDevices(document, of: user)
            })
    }
    package var tokens: Shelf<DeviceToken, Holders> { shelf("tokens") }
    /// Named `aliasDocuments` because ``aliases`` looks users up.
    var aliasDocuments: Shelf<Alias, Holders> { shelf("aliases") }
    /// By the apps' names of Live Activities and of sessions.
    package var activities: Shelf<String, Holders> { shelf("activities") }
    package var sessions: Shelf<String, Holders> { shelf("sessions") }
    /// Transfers of devices that have begun, by the names of the tokens' documents, whose locks guard them.
    var transfers: Shelf<DocumentName, DeviceTransfer> {
        Shelf(folder: "\(folder)/transfers", isLocal: isLocal)
    }
    /// What icons show of the games of users who have left, until `check-turns` gives it to other players. Each
    /// document has a random name and is written once.
    var handOvers: Shelf<DocumentName, HandOver> {
        Shelf(folder: "\(folder)/handovers", isLocal: isLocal)
    }
    package var channels: Shelf<ChannelID, Channel> { shelf("channels") }
    package var keyDocuments: Shelf<DocumentName, Key> { shelf("keys") }
    package var looks: Shelf<PlayerID, Look> {
        shelf("looks", durable: false, isCache: true)
    }
    /// Tokens that all processes share.
    package var credentials: Shelf<DocumentName, Opaque> {
        Shelf(folder: "\(folder)/credentials", isCache: true, isRetried: true)
    }
    /// Documents of the whole installation, such as the pause that OGS asked for: `ogs.json`.
    package var sharedDocuments: Shelf<DocumentName, Opaque> {
        Shelf(folder: folder, mayVanish: true, isLocal: isLocal)
    }

    package var messages: MessageRecords {
        MessageRecords(folder: "\(folder)/messages", isLocal: isLocal)
    }
    package var keys: Keys { Keys(state: self) }
    package var registry: Registry { Registry(state: self) }
    package var pace: Pace { Pace(folder: folder) }
}
