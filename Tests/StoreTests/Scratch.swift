import Dispatch
import Documents
import JSON
import Store
import TestSupport
import Testing
import Turnstone
import Unix

/// A state folder for one test, with short ways to set it up and to examine it.
struct Scratch {
    let folder = TemporaryFolder()
    let state: State

    /// A player, the player's file, and tokens.
    static let player = PlayerID("1783478")!
    static let other = PlayerID("123456")!
    static let userFile = "users/eb/1783478.json"
    static let token = DeviceToken("a1b2c3d4")!
    static let secondToken = DeviceToken("ffff")!
    static let tokenFile =
        "tokens/7d/7dcf407fa84a0e0519c7991154c4148de0244d7589020c0d9842db9efad82094.json"
    static let time = Timestamp(milliseconds: 1_795_262_400_000)

    init() throws {
        state = try Self.open(folder.path)
    }

    static func open(_ folder: String) throws -> State {
        var variables = Variables()
        variables.offer("TURNSTONE_STATE", folder)
        return try State(variables)
    }

    var user: UserID { UserID(Self.player) }

    /// The document's members on disk.
    func members(_ file: String) throws -> JSONObject? {
        try folder.read(file).flatMap { try JSON.parse($0).object }
    }

    func write(_ members: JSONValue, to file: String) throws {
        try folder.write(JSON.text(members), to: file)
    }

    /// The revision of a document on disk.
    func revision(of file: String) throws -> Int64 {
        guard let revision = try members(file)?["revision"]?.integer else {
            throw TestFailure("\(file) has no revision")
        }
        return revision
    }

    /// The committed revision that a document's lock file holds.
    func remembered(_ file: String) -> Int64? { SharedLock.revision(of: file, in: folder) }

    func remember(_ revision: Int64, for file: String) throws {
        try SharedLock.remember(revision, of: file, in: folder)
    }

    /// The path of a document's lock file.
    func lockPath(of file: String) -> String { "\(folder.path)/\(SharedLock.file(of: file))" }

    /// The files of the folder, lock files aside.
    var files: [String] { folder.files().keys.filter { !$0.hasSuffix(".lock") }.sorted() }
}

extension Scratch {
    func watchFile(_ number: Int64) -> String {
        "watch/\(UserID(PlayerID(number: number)!).documentName.shard!)/\(number)"
    }

    /// Compares the player index with the folder, and writes it.
    ///
    /// - Returns: how many marks were missing.
    @discardableResult
    static func compare(_ state: State) throws -> Int {
        let count = try PlayerIndex.electing(in: state) { (index) throws(Failure) in
            let count = try index.compare { Issue.record("\($0.sentence)") }
            try index.save { Issue.record("\($0.sentence)") }
            return count
        }
        return try #require(count)
    }

    /// The players who are due, in the order in which to look at them: a cycle without its looks.
    func due(at time: Timestamp, every interval: Interval = .seconds(30)) throws -> [Int64] {
        let due = try PlayerIndex.electing(in: state) { (index) throws(Failure) in
            _ = try index.compare { Issue.record("\($0.sentence)") }
            var due: [Int64] = []
            for claim in index.claim(at: time, interval: interval) {
                guard try index.begin(claim, at: time, interval: interval) != nil else { continue }
                due.append(claim.player.number)
                try index.end(claim)
            }
            try index.save { Issue.record("\($0.sentence)") }
            return due
        }
        return try #require(due)
    }
}

/// The cause of a failure, by which tests tell them apart.
func cause(_ work: () throws -> Void) -> String? {
    do {
        try work()
        return nil
    } catch {
        return (error as? Failure)?.cause ?? "\(error)"
    }
}

/// Does something again while a lock is busy: many writers on a slow disk are no fault.
@discardableResult
func patiently<Result>(_ work: () throws -> Result) throws -> Result {
    while true {
        do { return try work() } catch let failure as Failure where failure.cause == "busy" {}
    }
}

/// Does something in so many threads at once.
func atOnce(_ count: Int, _ body: @escaping @Sendable (Int) -> Void) {
    DispatchQueue.concurrentPerform(iterations: count, execute: body)
}
