import Store
import Turnstone
import Unix

/// One of the two processes: does with its mount what it reads on standard input, a command a line, and
/// answers each with a line.
struct Worker {
    private let folder: String
    private var lock: FileDescriptor?
    private var pending: [UInt8] = []

    init(in folder: String) { self.folder = folder }

    mutating func run() -> Never {
        while let line = nextLine() {
            let words = line.split(separator: " ").map(String.init)
            var reply: String
            do throws(TrialError) { reply = "ok \(try answer(words))" } catch {
                switch error {
                case .broken(let sentence): reply = "broken \(sentence)"
                case .untried(let sentence, true): reply = "later \(sentence)"
                case .untried(let sentence, false): reply = "never \(sentence)"
                }
            }
            say(reply)
        }
        ThisProcess.exit(0)
    }

    private mutating func nextLine() -> String? {
        while true {
            if let end = pending.firstIndex(of: UInt8(ascii: "\n")) {
                defer { pending = Array(pending[(end + 1)...]) }
                return String(decoding: pending[..<end], as: UTF8.self)
            }
            do throws(SystemError) {
                let more = try StandardStreams.readInput(upTo: 4096)
                if more.isEmpty { return nil }
                pending += more
            } catch { return nil }
        }
    }

    private func say(_ reply: String) {
        do throws(SystemError) { try StandardStreams.writeOutput(Array("\(reply)\n".utf8)) } catch {
            ThisProcess.exit(111)
        }
    }

    private func path(_ name: String) -> String { "\(folder)/\(name)" }

    private mutating func answer(_ words: [String]) throws(TrialError) -> String {
        let name = words.count > 1 ? words[1] : ""
        let number = words.last.flatMap { Int($0) } ?? 0
        switch words.first {
        // Locks, step by step.
        case "open":
            lock = try tried(FileDescriptor.open(path(name), .update))
            return ""
        case "lock":
            guard let lock else { return "" }
            return try tried(lock.lock(patience: .milliseconds(Int64(number)))) ? "yes" : "no"
        case "unlock":
            lock?.unlock()
            return ""
        case "still":
            return try tried { () throws(SystemError) in try lock?.isStill(at: path(name)) == true }
                ? "yes" : "no"
        case "remove":
            Files.remove(path(name))
            return ""
        // Single files.
        case "write":
            try tried(Files.replace(path(name), with: Array("\(number)\n".utf8)))
            return ""
        case "blank":
            try tried(Files.replace(path(name), with: [UInt8](repeating: 0, count: number)))
            return ""
        case "folder":
            try tried(Files.makeFolder(path(name)))
            return ""
        case "lines": return "\(try lines(name))"
        case "read": return try read(name).map { "\($0)" } ?? "missing"
        case "inode": return "\(try tried(FileDescriptor.open(path(name), .read).identity()).inode)"
        case "time": return "\(try clockDistance(name))"
        // Races.
        case "replace": return try replace(name, rounds: number)
        case "append":
            try append(name, rounds: number)
            return ""
        case "extend":
            try extend(name, rounds: number)
            return ""
        case "publish": return try publish(name, rounds: number)
        case "follow": return try follow(name, last: number)
        case "accept": return try accept(name, rounds: number)
        case "take": return try take(name, count: number)
        default: throw .untried("an unknown command", isTemporary: false)
        }
    }

    /// Tells the other side, once in a while, that this one is alive.
    private func breathe(_ round: Int) {
        if round % 20 == 0 { say("alive") }
    }

    private func read(_ name: String) throws(TrialError) -> Int? {
        let found = try tried(Files.contents(path(name)))
        guard let bytes = found else { return nil }
        guard bytes.last == UInt8(ascii: "\n"),
            let number = Int(String(decoding: bytes.dropLast(), as: UTF8.self))
        else {
            throw .broken("a file that was written whole was read as \(bytes.count) other bytes")
        }
        return number
    }

    /// How many milliseconds the file system's clock is ahead of this machine's.
    private func clockDistance(_ name: String) throws(TrialError) -> Int64 {
        try tried { () throws(SystemError) in
            try FileDescriptor.open(path(name), .truncate).synchronize()
        }
        guard let distance = FileSystem.clockDistance(at: path(name)) else {
            throw .broken("a file of ours cannot be dated")
        }
        return distance
    }
}

// The races. The other process does the same at the same time.

extension Worker {
    /// Runs `body` with the lock of a name held, as the programs lock a document.
    private func holding<Result>(
        _ name: String, _ body: () throws(TrialError) -> Result
    ) throws(TrialError) -> Result {
        let file = try locked(name)
        defer { file.unlock() }
        return try body()
    }

    private func locked(_ name: String) throws(TrialError) -> FileDescriptor {
        let file = try tried(FileDescriptor.open(path("\(name).lock"), .update))
        try lock(file)
        return file
    }

    private func lock(_ file: FileDescriptor) throws(TrialError) {
        guard try tried(file.lock(patience: .seconds(30))) else {
            throw .broken("a lock that others hold for an instant was not free within 30 s")
        }
    }

    /// Adds 1 to a number, as the programs change a document.
    private func replace(_ name: String, rounds: Int) throws(TrialError) -> String {
        var last = 0
        for round in 1...rounds {
            last = try holding(name) { () throws(TrialError) in
                guard let number = try read(name) else {
                    throw .broken("a file that was committed was missing under its lock")
                }
                guard number >= last else {
                    throw .broken(
                        "under its lock, a file had its old content: \(number) after \(last)")
                }
                try tried(Files.replace(path(name), with: Array("\(number + 1)\n".utf8)))
                return number + 1
            }
            breathe(round)
        }
        return "\(last)"
    }

    private static let line = Array("0123456789abcde\n".utf8)

    /// Appends lines to a file that is opened under the lock.
    private func append(_ name: String, rounds: Int) throws(TrialError) {
        for round in 1...rounds {
            try holding(name) { () throws(TrialError) in
                try tried { () throws(SystemError) in
                    let file = try FileDescriptor.open(path(name), .append)
                    try file.write(Self.line)
                    try file.synchronizeData()
                }
            }
            breathe(round)
        }
    }

    /// Appends lines to a file that is its own lock, as the programs do with an index: it is opened before the lock is
    /// taken, and ``FileDescriptor`` opens it again under it.
    private func extend(_ name: String, rounds: Int) throws(TrialError) {
        for round in 1...rounds {
            let file = try tried(FileDescriptor.open(path(name), .update))
            try lock(file)
            defer { file.unlock() }
            try tried { () throws(SystemError) in
                try file.write(Self.line, at: file.size())
                // Others learn of it when it is closed, as programs leave most of what is in a lock file.
            }
            breathe(round)
        }
    }

    /// How many lines were appended. They have the same length, so holes and overwritten ones show.
    private func lines(_ name: String) throws(TrialError) -> Int {
        let found = try holding(name) { () throws(TrialError) in
            try tried(Files.contents(path(name)))
        }
        let bytes = found ?? []
        for start in stride(from: 0, to: bytes.count, by: Self.line.count)
        where !bytes[start...].prefix(Self.line.count).elementsEqual(Self.line) {
            throw .broken("an appended line was overwritten")
        }
        return bytes.count / Self.line.count
    }

    /// Replaces a file again and again under its lock, while the other process reads it.
    private func publish(_ name: String, rounds: Int) throws(TrialError) -> String {
        for round in 1...rounds {
            try holding(name) { () throws(TrialError) in
                try tried(Files.replace(path(name), with: Array("\(round)\n".utf8)))
            }
            breathe(round)
        }
        return ""
    }

    /// Reads a file, as programs read a document, until it has its last content.
    private func follow(_ name: String, last: Int) throws(TrialError) -> String {
        var (known, reads) = (0, 0)
        var progress = Instant.now
        while known < last {
            let number = try readPatiently(name)
            guard number >= known else {
                throw .broken("a reader without the lock saw an older file after a newer one")
            }
            if number > known { progress = .now }
            guard Instant.now - progress < .seconds(30) else {
                throw .broken("a reader did not see a new file within 30 s")
            }
            known = number
            reads += 1
            breathe(reads)
        }
        return "\(reads)"
    }

    /// Looks for a missing file as the programs do, at last under its lock: some network file systems say that a
    /// file which is replaced while it is opened is missing.
    private func readPatiently(_ name: String) throws(TrialError) -> Int {
        var patience = Patience()
        repeat {
            if let number = try read(name) { return number }
        } while patience.wait()
        guard let number = try holding(name, { () throws(TrialError) in try read(name) }) else {
            throw .broken("a file that was only replaced was missing, also under its lock")
        }
        return number
    }

    /// Puts files into a folder, as the programs accept notifications.
    private func accept(_ name: String, rounds: Int) throws(TrialError) -> String {
        for round in 1...rounds {
            try tried { () throws(SystemError) in
                let file = try FileDescriptor.open(path("\(name)/new.\(round)"), .truncate)
                try file.write(Array("\(round)\n".utf8))
                try file.synchronize()
                try Files.rename(path("\(name)/new.\(round)"), path("\(name)/ready/\(round)"))
                try Files.synchronizeFolder(path("\(name)/ready"))
            }
            breathe(round)
        }
        return ""
    }

    /// Lists the folder and takes what is in it, until it has all.
    private func take(_ name: String, count: Int) throws(TrialError) -> String {
        var taken: Set<Int> = []
        var (progress, rounds) = (Instant.now, 0)
        while taken.count < count {
            for file in try tried(Files.names(in: path("\(name)/ready"))) {
                guard let number = Int(file), !taken.contains(number) else { continue }
                let found = try read("\(name)/ready/\(file)")
                guard found == number else {
                    throw .broken("a file that was listed could not be read whole")
                }
                try tried(
                    Files.rename(path("\(name)/ready/\(file)"), path("\(name)/taken/\(file)")))
                taken.insert(number)
                progress = .now
            }
            guard Instant.now - progress < .seconds(30) else {
                throw .broken("a file that was renamed into a folder was not listed within 30 s")
            }
            rounds += 1
            breathe(rounds)
        }
        return "\(taken.count)"
    }
}

/// Does a system call. An error that says nothing about the file system, such as a full disk, only ends the
/// trial.
func tried<Result>(
    _ work: @autoclosure () throws(SystemError) -> Result
) throws(TrialError) -> Result {
    do throws(SystemError) { return try work() } catch { throw trialError(error) }
}

func tried<Result>(_ work: () throws(SystemError) -> Result) throws(TrialError) -> Result {
    do throws(SystemError) { return try work() } catch { throw trialError(error) }
}

private func trialError(_ error: SystemError) -> TrialError {
    let sentence = "unable to \(error.call) \(error.path): \(error.reason)"
    if ["EACCES", "EPERM", "EROFS"].contains(error.errno.name) {
        return .untried(sentence, isTemporary: false)
    }
    // A file that is stale on the other mount is what the test looks for.
    let isTemporary = error.errno.isTemporary && error.errno != .stale
    return isTemporary ? .untried(sentence, isTemporary: true) : .broken(sentence)
}
