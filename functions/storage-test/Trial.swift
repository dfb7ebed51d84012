import Store
import Turnstone
import Unix

/// The trial of a file system: one promise after the other, until one is broken.
final class Trial {
    /// The state folder on each mount; the same one twice if there is one mount.
    private let folders: [String]
    private let isShared: Bool
    /// The trial's own folder, below each of them.
    private let places: [String]
    private let left: Partner
    private let right: Partner
    private let mount: Mount

    /// The work of the two processes in each race, half of it each.
    private static let rounds = 1000
    /// Rounds in which they take turns.
    private static let turns = 50

    init(_ given: [String]) throws(Failure) {
        isShared = given.count > 1
        folders = isShared ? given : [given[0], given[0]]
        let name = "storage-test.\(ThisProcess.id).\(Timestamp.systemNow.milliseconds)"
        places = folders.map { "\($0)/\(name)" }
        mount = try systemCalls(Mount(at: folders[0]))
        if isShared {
            let devices = try systemCalls { () throws(SystemError) in
                (try Mount.device(of: given[0]), try Mount.device(of: given[1]))
            }
            guard devices.0 != devices.1 else {
                throw Failure(
                    .broken,
                    "\(given[0]) and \(given[1]) are on the same mount: mount the file system a second time",
                    cause: "arguments")
            }
            let other = try systemCalls(Mount(at: given[1]))
            guard mount == other else {
                throw Failure(
                    .broken,
                    """
                    \(given[0]) (\(mount.kind) \(mount.options.joined(separator: ","))) and \(given[1]) \
                    (\(other.kind) \(other.options.joined(separator: ","))) are mounted differently: \
                    give both mounts the same options
                    """,
                    cause: "arguments")
            }
        }
        let places = self.places
        try systemCalls { () throws(SystemError) in
            _ = try FileDescriptor.open(given[0], .folder)
            try Files.makeFolder(places[0])
        }
        do throws(Failure) {
            left = try Partner(in: places[0])
            right = try Partner(in: places[1])
        } catch {
            _ = Files.removeAll(places[0])
            throw error
        }
    }

    /// Ends the processes and removes what they have left.
    func end() {
        left.kill()
        right.kill()
        // A file that is open on a network file system may keep a name for a moment.
        for _ in 0..<20 where !Files.removeAll(places[0]) { sleep(for: .milliseconds(100)) }
    }

    /// Tries all promises, and writes or removes `storage.json`.
    ///
    /// - Parameter say: gets a line for each promise.
    /// - Returns: whether all are kept.
    /// - Throws: if it could not be tried.
    func run(_ say: (String) -> Void) throws(Failure) -> Bool {
        say("# \(folders[0]): \(mount.kind) \(mount.options.joined(separator: ","))")
        for promise in Promise.all where isShared || !promise.needsTwoMounts {
            let start = Instant.now
            do throws(TrialError) {
                let count = try promise.test(self)
                say("ok \(promise.name): \(count) in \((Instant.now - start).milliseconds) ms")
            } catch {
                switch error {
                case .broken(let sentence):
                    say("not ok \(promise.name): \(sentence)")
                    try forgetRecord()
                    return false
                case .untried(let sentence, let isTemporary):
                    throw Failure(
                        isTemporary ? .later(seconds: 60) : .broken, sentence, cause: "untried")
                }
            }
        }
        // A result from two mounts counts for more than one from a single mount.
        if !isShared, try isKnownForSeveral() { return true }
        let record = StorageRecord(
            of: mount, onlyFor: isShared ? nil : ThisMachine.name, at: .systemNow)
        try record.write(in: folders[0], rounds: Self.rounds)
        return true
    }
}

extension Trial {
    private func isKnownForSeveral() throws(Failure) -> Bool {
        guard let record = try StorageRecord.read(in: folders[0]) else { return false }
        return record.machine == nil && record.mount == mount
    }

    /// Removes `storage.json`. What several machines may not do, one may: its record stays.
    private func forgetRecord() throws(Failure) {
        if isShared, let record = try StorageRecord.read(in: folders[0]), record.machine != nil {
            return
        }
        Files.remove(StorageRecord.path(in: folders[0]))
    }
}

/// The promises that a file system must keep.
private struct Promise {
    let name: String
    var needsTwoMounts = false
    /// Returns how much was tried.
    let test: (Trial) throws(TrialError) -> String

    /// The quick ones first.
    static var all: [Promise] {
        [
            Promise(name: "both mounts show the same files", needsTwoMounts: true) {
                (trial) throws(TrialError) in try trial.sameFiles()
            },
            Promise(name: "its clock and this machine's differ by less than a minute") {
                (trial) throws(TrialError) in try trial.clocks()
            },
            Promise(name: "a lock excludes others, and ends with its holder") {
                (trial) throws(TrialError) in try trial.exclusion()
            },
            Promise(name: "whoever waits for a lock learns that its file was removed or replaced") {
                (trial) throws(TrialError) in try trial.removal()
            },
            Promise(name: "replacing a file under its lock loses nothing") {
                (trial) throws(TrialError) in try trial.replacing()
            },
            Promise(name: "readers without the lock see the old file or the new one") {
                (trial) throws(TrialError) in try trial.readers()
            },
            Promise(name: "a file that is renamed into a folder is listed and read") {
                (trial) throws(TrialError) in try trial.acceptance()
            },
            Promise(name: "appending to a file that was opened under the lock loses nothing") {
                (trial) throws(TrialError) in try trial.appending("append")
            },
            Promise(name: "appending to a file that was opened before it was locked loses nothing")
            {
                (trial) throws(TrialError) in try trial.appending("extend")
            },
        ]
    }
}

extension Trial {
    fileprivate func sameFiles() throws(TrialError) -> String {
        for round in 1...Self.turns {
            let (one, other) = pair(round)
            try one.ask("write same.\(round) \(round)")
            guard try other.ask("read same.\(round)") == "\(round)" else {
                throw .broken("a file that was written on one was not found on the other")
            }
            guard try one.ask("inode same.\(round)") == other.ask("inode same.\(round)") else {
                throw .broken("a file has another number on each")
            }
        }
        return "\(Self.turns) files"
    }

    fileprivate func clocks() throws(TrialError) -> String {
        var farthest: Int64 = 0
        for partner in [left, right] {
            let distance = Int64(try partner.ask("time clock")) ?? 0
            guard abs(distance) < State.clockTolerance.milliseconds else {
                throw .broken(
                    "it is \(distance > 0 ? "ahead" : "behind") by \(abs(distance) / 1000) s: set the clocks by NTP"
                )
            }
            farthest = max(farthest, abs(distance))
        }
        return "\(farthest) ms apart,"
    }

    fileprivate func exclusion() throws(TrialError) -> String {
        for round in 1...Self.turns {
            let (one, other) = pair(round)
            for partner in [one, other] { try partner.ask("open exclusion.lock") }
            guard try one.ask("lock 5000") == "yes" else {
                throw .broken("it is not free at first")
            }
            guard try other.ask("lock 0") == "no" else {
                throw .broken("two processes held it at once")
            }
            try one.ask("unlock")
            guard try other.ask("lock 5000") == "yes" else {
                throw .broken("it was not free 5 s after its release")
            }
            guard try one.ask("lock 0") == "no" else {
                throw .broken("two processes held it at once")
            }
            try other.ask("unlock")
        }
        for (place, waiting) in [(places[1], left), (places[0], right)] {
            let killed: Partner
            do throws(Failure) { killed = try Partner(in: place) } catch {
                throw .untried(error.sentence, isTemporary: true)
            }
            try killed.ask("open exclusion.lock")
            guard try killed.ask("lock 5000") == "yes" else {
                throw .broken("it was not free after its release")
            }
            killed.kill()
            guard try waiting.ask("lock 5000") == "yes" else {
                throw .broken("it was not free 5 s after its holder was killed")
            }
            try waiting.ask("unlock")
        }
        return "\(Self.turns) turns, 2 kills"
    }

    fileprivate func removal() throws(TrialError) -> String {
        for round in 1...Self.turns {
            let (one, other) = pair(round)
            for partner in [one, other] { try partner.ask("open removal.lock") }
            guard try one.ask("lock 5000") == "yes" else { throw .broken("a lock was not free") }
            for partner in [one, other] where try partner.ask("still removal.lock") != "yes" {
                throw .broken("a file that is there seemed to be another one")
            }
            try one.ask("remove removal.lock")
            // On every other turn a new file takes the name.
            if round % 2 == 0 { try one.ask("write removal.lock \(round)") }
            try one.ask("unlock")
            guard try other.ask("lock 5000") == "yes" else { throw .broken("a lock was not free") }
            guard try other.ask("still removal.lock") == "no" else {
                throw .broken(
                    "after the file was \(round % 2 == 0 ? "replaced" : "removed"), it still seemed to be there"
                )
            }
            try other.ask("unlock")
        }
        return "\(Self.turns) turns"
    }

    fileprivate func replacing() throws(TrialError) -> String {
        try left.ask("write counter 0")
        try atOnce("replace counter \(Self.rounds / 2)")
        for partner in [left, right] {
            let number = try partner.ask("read counter")
            guard number == "\(Self.rounds)" else {
                throw .broken("\(number) of \(Self.rounds) changes are there")
            }
        }
        return "\(Self.rounds) changes"
    }

    fileprivate func readers() throws(TrialError) -> String {
        var reads = 0
        for round in 0...1 {
            let (one, other) = pair(round)
            let name = "published.\(round)"
            try one.ask("write \(name) 0")
            try other.tell("follow \(name) \(Self.rounds / 2)")
            try one.ask("publish \(name) \(Self.rounds / 2)")
            reads += Int(try other.answer()) ?? 0
        }
        return "\(Self.rounds) replacements, \(reads) reads"
    }

    fileprivate func acceptance() throws(TrialError) -> String {
        for round in 0...1 {
            let (one, other) = pair(round)
            let name = "queue.\(round)"
            for folder in ["ready", "taken"] { try one.ask("folder \(name)/\(folder)") }
            try other.tell("take \(name) \(Self.rounds / 2)")
            try one.ask("accept \(name) \(Self.rounds / 2)")
            _ = try other.answer()
        }
        return "\(Self.rounds) files"
    }

    fileprivate func appending(_ command: String) throws(TrialError) -> String {
        let name = "\(command)ed"
        try left.ask("blank \(name) 0")
        try atOnce("\(command) \(name) \(Self.rounds / 2)")
        for partner in [left, right] {
            let lines = try partner.ask("lines \(name)")
            guard lines == "\(Self.rounds)" else {
                throw .broken("\(lines) of \(Self.rounds) lines are there")
            }
        }
        return "\(Self.rounds) lines"
    }

    /// The two workers, exchanged in every other round.
    private func pair(_ round: Int) -> (Partner, Partner) {
        round % 2 == 0 ? (left, right) : (right, left)
    }

    private func atOnce(_ command: String) throws(TrialError) {
        try left.tell(command)
        try right.tell(command)
        _ = try left.answer()
        _ = try right.answer()
    }
}
