import Documents
import Foundation
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

    /// The number that the lock file beside a document holds.
    func remembered(_ file: String) -> Int64? {
        folder.read("\(file).lock").flatMap {
            Int64(String(decoding: $0.prefix(20), as: UTF8.self))
        }
    }

    func remember(_ revision: Int64, for file: String) throws {
        let digits = String(revision)
        try folder.write(
            String(repeating: "0", count: 20 - digits.count) + digits, to: "\(file).lock")
    }

    /// Does something as the elected looker, with an index that is up to date.
    @discardableResult
    func looking<Result>(
        as other: State? = nil, _ body: (PlayerIndex) throws -> Result
    ) throws -> Result {
        let index = try #require(try (other ?? state).playerIndex())
        defer { index.end() }
        _ = try index.update { Issue.record("\($0.sentence)") }
        let result = try body(index)
        try index.flush()
        return result
    }

    /// Sets the time of a folder to a day ago.
    func age(_ folder: String) throws {
        let time = timespec(tv_sec: Int(Timestamp.systemNow.seconds) - 86_400, tv_nsec: 0)
        let result = [time, time].withUnsafeBufferPointer {
            utimensat(AT_FDCWD, "\(self.folder.path)/\(folder)", $0.baseAddress, 0)
        }
        #expect(result == 0)
    }

    /// The files of the folder, lock files aside.
    var files: [String] { folder.files().keys.filter { !$0.hasSuffix(".lock") }.sorted() }
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
