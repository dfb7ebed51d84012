import Turnstone
import Unix

/// The exclusive right to write a document: a lock on a file that is never renamed, which also stores the last
/// committed revision. It is the document's own or shared with other documents of its shelf (``LockPlace``). A
/// file of its own is removed together with the document, or if there never was one, but only by its holder.
/// C: `flock(2)`.
package struct Lock: ~Copyable {
    private let place: LockPlace
    private let file: FileDescriptor
    /// If the file is shared.
    private let held: HeldLock?
    /// What programs of version 2 lock, while they may run.
    private let own: FileDescriptor?
    /// When it was asked for.
    private let began: Instant
    /// The same by the system's clock: a machine that is suspended may not count that time.
    private let beganByWall: Timestamp

    /// The number of locks that this process has acquired so far.
    nonisolated(unsafe) package private(set) static var acquired = 0

    /// Runs `body`; until it returns, this thread waits for no lock longer than `longest`.
    ///
    /// - Parameter isRecording: whether a document's lock that is not free then is recorded for `health`.
    package static func waiting<Result>(
        upTo longest: Interval, recording isRecording: Bool = false,
        _ body: () throws(Failure) -> Result
    ) throws(Failure) -> Result {
        let context = LockContext.current
        let usual = (context.patience, context.isRecording)
        (context.patience, context.isRecording) = (longest, isRecording)
        defer { (context.patience, context.isRecording) = usual }
        return try body()
    }

    /// Runs `body` while holding the lock of the document at `path`, in a file of its own.
    ///
    /// - Throws: `busy` if the lock is not free within two seconds, or within the time of
    ///   ``waiting(upTo:recording:_:)``.
    package static func holding<Result>(
        _ path: String, _ body: (borrowing Lock) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try holding(LockPlace(of: path), body)
    }

    /// The same for any document. A thread that holds a lock may take that of another document in the same
    /// file: it has it already.
    package static func holding<Result>(
        _ place: LockPlace, _ body: (borrowing Lock) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        let lock = try Lock(at: place)
        // This use after `body` keeps the descriptors open. Without it, the lock may be lost before a body
        // that ignores its argument has begun.
        defer { lock.release() }
        return try body(lock)
    }

    /// Runs `body` while holding the lock, if no process holds it at this moment. Makes no lock file: if
    /// there is none, nobody held the lock when this was called.
    ///
    /// - Parameter body: gets the last committed revision.
    /// - Returns: `nil` if a process holds the lock.
    static func holdingIfFree<Result>(
        _ place: LockPlace, _ body: (_ committed: Int64) throws(Failure) -> Result?
    ) throws(Failure) -> Result? {
        let file: FileDescriptor?
        if let key = place.key, let held = HeldLock.find(place.file) {
            guard !held.holds(key) else { return nil }
            file = held.file
        } else {
            guard case .free(let found) = try lockedIfFree(place.file) else { return nil }
            file = found
        }
        // Closing the files releases the locks.
        defer { withExtendedLifetime(file) {} }
        guard let key = place.key else {
            return try body(
                systemCalls(file.map { (file) throws(SystemError) in try number(in: file) } ?? 0))
        }
        var own: FileDescriptor?
        defer { withExtendedLifetime(own) {} }
        if place.ownLocks.areHeld {
            guard case .free(let found) = try lockedIfFree(place.own) else { return nil }
            own = found
        }
        let line = try systemCalls { () throws(SystemError) in
            try file.flatMap { (file) throws(SystemError) in
                try RevisionTable(in: file).revision(of: key)
            }
        }
        if let line, own == nil { return try body(line) }
        return try body(max(line ?? 0, systemCalls(ownNumber(at: place))))
    }

    /// Runs `body`, meanwhile holding the lock's file if documents share it and it is free at this moment. Then
    /// ``holdingIfFree(_:_:)`` opens none for any of them.
    static func holdingFileIfFree<Result>(
        _ place: LockPlace, _ body: () throws(Failure) -> Result
    ) throws(Failure) -> Result {
        guard place.key != nil, HeldLock.find(place.file) == nil else { return try body() }
        var free: FileDescriptor?
        // What is wrong with the file is said for each document.
        do throws(Failure) {
            if case .free(let file) = try lockedIfFree(place.file) { free = file }
        } catch {}
        guard let file = free else { return try body() }
        let held = HeldLock(push: place.file, file, for: HeldLock.anyKey)
        defer { held.release() }
        return try body()
    }

    private enum Attempt {
        case taken
        /// The file, locked; `nil` if there is none.
        case free(FileDescriptor?)
    }

    private static func lockedIfFree(_ path: String) throws(Failure) -> Attempt {
        let file: FileDescriptor
        do throws(SystemError) { file = try FileDescriptor.open(path, .overwrite) } catch {
            guard error.errno == .noEntry else { throw error.failure }
            return .free(nil)
        }
        guard try systemCalls(file.tryLock()), try systemCalls(file.isStill(at: path)) else {
            return .taken
        }
        return .free(file)
    }

    /// Runs `body` while holding the locks of two documents.
    static func holding<Result>(
        _ first: LockPlace, _ second: LockPlace,
        _ body: (borrowing Lock, borrowing Lock) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        // One order for all programs, so that no two wait for each other: first the shared files, which only
        // programs of this version lock, then the documents' own, in the order in which version 2 locks them.
        let files = [first.sharedFile, second.sharedFile].compactMap { $0 }.sorted()
        return try holding(files: files[...]) { () throws(Failure) in
            if first.own < second.own {
                return try holding(first) { (one) throws(Failure) in
                    try holding(second) { (other) throws(Failure) in try body(one, other) }
                }
            }
            return try holding(second) { (other) throws(Failure) in
                try holding(first) { (one) throws(Failure) in try body(one, other) }
            }
        }
    }

    private static func holding<Result>(
        files: ArraySlice<String>, _ body: () throws(Failure) -> Result
    ) throws(Failure) -> Result {
        guard let path = files.first else { return try body() }
        let file = try HeldLock.holding(path, for: HeldLock.anyKey)
        defer { file.release() }
        return try holding(files: files.dropFirst(), body)
    }

    private init(at place: LockPlace) throws(Failure) {
        began = .now
        beganByWall = .systemNow
        var held: HeldLock?
        var own: FileDescriptor?
        if let key = place.key {
            if HeldLock.find(place.file)?.holds(key) == true {
                throw Failure(
                    .later(seconds: 2),
                    "unable to lock \(place.file): this program is changing the document already",
                    cause: FailureCause.busy)
            }
            let (shared, former) = try Self.lockedTwice(place, key)
            held = shared
            own = former
            file = shared.file
        } else {
            file = try Self.locked(place.file)
        }
        self.place = place
        self.held = held
        self.own = own
        Self.acquired += 1
    }

    /// Locks a document's shared file and, as long as programs of version 2 may run, its own. The shared one is
    /// given up while the own one is not free: thousands of others need it.
    private static func lockedTwice(
        _ place: LockPlace, _ key: UInt64
    ) throws(Failure) -> (HeldLock, own: FileDescriptor?) {
        let end = Instant.now + LockContext.current.patience
        var shared = try HeldLock.holding(place.file, for: key)
        while true {
            do throws(Failure) {
                guard place.ownLocks.areHeld else { return (shared, nil) }
                let pause = min(.milliseconds(20), max(.seconds(0), end - Instant.now))
                let own = try waiting(upTo: pause) { () throws(Failure) in try locked(place.own) }
                return (shared, own)
            } catch {
                shared.release()
                guard error.cause == FailureCause.busy else { throw error }
                guard Instant.now < end else { throw busy(place.own) }
            }
            sleep(for: .milliseconds(20))
            let isRecording = LockContext.current.isRecording
            shared = try waiting(
                upTo: max(.seconds(0), end - Instant.now), recording: isRecording
            ) { () throws(Failure) in try HeldLock.holding(place.file, for: key) }
        }
    }

    /// The failure if a lock is not free in time. It is recorded for `health`.
    private static func busy(_ path: String) -> Failure {
        let context = LockContext.current
        if context.isRecording, isOfDocuments(path) {
            UnusableFiles.record(path, FailureCause.busy)
        }
        return Failure(
            .later(seconds: 2),
            "unable to lock \(path): busy for \(context.patience.milliseconds) ms",
            cause: FailureCause.busy)
    }

    private func release() {
        own?.unlock()
        if let held { held.release() } else { file.unlock() }
    }

    fileprivate static func locked(_ path: String) throws(Failure) -> FileDescriptor {
        let patience = LockContext.current.patience
        var removed: Instant?
        while true {
            let file = try systemCalls(Self.open(path))
            let isLocked = try systemCalls(file.lock(patience: patience))
            guard isLocked else { throw busy(path) }
            // The previous holder may have removed the file with its document. Then other processes lock a
            // new file. The number of its names does not tell: NFS and fuse-overlayfs keep one of their own.
            if try systemCalls(file.isStill(at: path)) { return file }
            let now = Instant.now
            guard now - (removed ?? now) <= patience else {
                throw Failure(
                    .later(seconds: 2),
                    "unable to lock \(path): it was removed or replaced each time",
                    cause: FailureCause.busy)
            }
            removed = removed ?? now
        }
    }

    private static func open(_ path: String) throws(SystemError) -> FileDescriptor {
        do throws(SystemError) {
            return try FileDescriptor.open(path, .update)
        } catch {
            guard error.errno == .noEntry else { throw error }
            try Files.makeFolder(Files.parent(of: path))
            return try FileDescriptor.open(path, .update)
        }
    }
}

extension HeldLock {
    /// Locks a file that documents share, for one of them. If the thread holds it already, it opens no second
    /// descriptor: with that, `flock` would make it wait for itself.
    fileprivate static func holding(
        _ path: String, for key: UInt64
    ) throws(Failure) -> HeldLock {
        guard let held = find(path) else {
            return HeldLock(push: path, try Lock.locked(path), for: key)
        }
        held.retain(for: key)
        return held
    }
}

// MARK: - The last committed revision

extension Lock {
    /// The last committed revision; 0 before the first commit.
    package func committedRevision() throws(Failure) -> Int64 {
        guard let key = place.key else { return try systemCalls(Self.number(in: file)) }
        let line = try systemCalls(RevisionTable(in: file).revision(of: key))
        if let own { return max(line ?? 0, try systemCalls(Self.number(in: own))) }
        if let line { return line }
        return try systemCalls(Self.ownNumber(at: place))
    }

    /// Whether it was taken so long ago that a network file system may have given it to another machine: it
    /// does so if it hears nothing of this one for a minute or so. A machine that was suspended goes on where
    /// it stood.
    var isOld: Bool {
        let patience = Interval.seconds(5)
        return Instant.now - began > patience || Timestamp.systemNow - beganByWall > patience
    }

    /// Whether this process holds the lock, as the file system sees it now. If nobody does, it does again.
    func isStillHeld() throws(Failure) -> Bool {
        try systemCalls { () throws(SystemError) in
            guard try file.tryLock(), try file.isStill(at: place.file) else { return false }
            guard let own else { return true }
            guard try own.tryLock() else { return false }
            return try own.isStill(at: place.own)
        }
    }

    /// The last committed revision of the document whose lock is there, without holding it.
    package static func committedRevision(at place: LockPlace) throws(Failure) -> Int64 {
        let number = try systemCalls(storedNumber(at: place))
        guard number > 0 else { return 0 }
        return try isEmptied(place) ? 0 : number
    }

    /// The number that the lock file has for the document, which counts unless the lock is emptied
    /// (``isEmptied(_:)``); 0 also if the file cannot be read.
    static func numberIfReadable(at place: LockPlace) throws(Failure) -> Int64 {
        do throws(SystemError) { return try storedNumber(at: place) } catch {
            guard error.errno.concernsOneFile else { throw error.failure }
            return 0
        }
    }

    private static func storedNumber(at place: LockPlace) throws(SystemError) -> Int64 {
        guard let key = place.key else { return try number(at: place.own) }
        var line: Int64?
        do throws(SystemError) {
            line = try RevisionTable(in: FileDescriptor.open(place.file, .read)).revision(of: key)
        } catch {
            guard error.errno == .noEntry || error.errno == .notDirectory else { throw error }
        }
        if let line, line > 0 { return line }
        return try ownNumber(at: place)
    }

    /// The number in `NAME.json.lock`, if version 2 may have left one.
    private static func ownNumber(at place: LockPlace) throws(SystemError) -> Int64 {
        place.ownLocks.areGone ? 0 : try number(at: place.own)
    }

    private static func number(at path: String) throws(SystemError) -> Int64 {
        do throws(SystemError) {
            // An operator may have emptied it, as an account whose files nobody else can read.
            guard let stamp = try Files.stamp(of: path), stamp.size > 0 else { return 0 }
            return try number(in: FileDescriptor.open(path, .read))
        } catch {
            guard error.errno == .noEntry || error.errno == .notDirectory else { throw error }
            return 0
        }
    }

    /// The number counts only in the file that it was written to. In a copy of the state folder, which may
    /// hold an older document with a newer number, it is ignored.
    private static func number(in file: FileDescriptor) throws(SystemError) -> Int64 {
        let text = try file.read(upTo: 62, at: 0)
        func word(_ place: Int) -> Int64? {
            Int64(String(decoding: text.dropFirst(place * 21).prefix(20), as: UTF8.self))
        }
        let revision = word(0) ?? 0
        guard let inode = word(1), let birth = word(2) else { return revision }
        return try file.isIdentified(inode: inode, birth: birth) ? revision : 0
    }

    /// Stores the number of a commit. The document itself is already committed: if this fails, the next
    /// writer finds the document newer than the number and accepts it.
    func remember(_ revision: Int64) {
        do throws(SystemError) {
            guard let key = place.key else { return try Self.write(revision, to: file) }
            let table = RevisionTable(in: file)
            if let own {
                try Self.write(revision, to: own)
                // While version 2 may run, no line is made: version 2 would not remove it with its document.
                guard try table.revision(of: key) != nil else { return }
                try table.store(revision, of: key)
            } else {
                // Version 2's lock, or an operator's empty file. Left behind, it would let the document begin
                // anew if it were lost one day.
                try table.store(revision, of: key) { Files.remove(place.own) }
            }
        } catch {}
    }

    /// Stores a number for a document that had none and is about to go: without one it would count as never
    /// committed. It is above the revision of each copy, so none counts until an operator empties the lock. Unlike a
    /// commit's number it is synced, since no document is left that tells of it.
    func rememberLoss() throws(Failure) {
        remember(Timestamp.systemNow.milliseconds)
        guard try committedRevision() > 0 else {
            throw Failure(
                .later(seconds: 5), "unable to write \(place.file)", cause: FailureCause.faulty,
                file: place.file)
        }
        try systemCalls { () throws(SystemError) in
            if let own { try own.synchronizeData() } else { try file.synchronizeData() }
        }
    }

    private static func write(_ revision: Int64, to file: FileDescriptor) throws(SystemError) {
        let own = try file.identity()
        let words = [revision, own.inode, own.birth].map { padded($0) }
        try file.write(Array(words.joined(separator: [UInt8(ascii: " ")])), at: 0)
    }

    /// Forgets the number before the document is removed: with it, a missing document would count as lost.
    func forget() throws(Failure) {
        guard let key = place.key else { return remember(0) }
        try systemCalls { () throws(SystemError) in
            if let own { try Self.write(0, to: own) }
            try RevisionTable(in: file).remove(key)
            if own == nil { Files.remove(place.own) }
        }
    }

    /// Whether an operator has emptied `NAME.json.lock`, to go on without a missing document or with an older
    /// one. The number is forgotten then.
    func takeEmptied() throws(Failure) -> Bool {
        guard place.key != nil, own == nil, try Self.isEmptied(place) else { return false }
        // The file goes last: without it, nothing would be done after a crash.
        try forget()
        return true
    }

    /// Whether the document's own lock file is empty: it counts as never committed.
    static func isEmptied(_ place: LockPlace) throws(Failure) -> Bool {
        try systemCalls(Files.stamp(of: place.own))?.size == 0
    }

    /// Leaves nothing of a document behind that was removed, or never made.
    func discard() {
        // A process that waits for this lock sees that the file is gone, and makes a new one.
        if place.key == nil || !place.ownLocks.areGone { Files.remove(place.own) }
    }

    /// Puts the number that version 2 has left into the shared file, and removes version 2's file.
    package func adoptOwn() throws(Failure) {
        guard let key = place.key, own == nil else { return }
        try systemCalls { () throws(SystemError) in
            let table = RevisionTable(in: file)
            if try table.revision(of: key) == nil {
                let number = try Self.number(at: place.own)
                if number > 0 { try table.store(number, of: key) }
            } else if try Files.stamp(of: place.own)?.size == 0 {
                return  // an operator has emptied it since, for the next commit
            }
            try Files.erase(place.own)
        }
    }
}

/// Whether a lock file is shared by documents, or a user's own. Others, such as that of the looker, may be held
/// for long.
private func isOfDocuments(_ path: String) -> Bool {
    let folder = Files.parent(of: Files.parent(of: path))
    return ["locks", "users"].contains { Files.name(of: folder).utf8.elementsEqual($0.utf8) }
}

private func padded(_ number: Int64) -> [UInt8] {
    let digits = Array(String(number).utf8)
    return [UInt8](repeating: UInt8(ascii: "0"), count: max(0, 20 - digits.count)) + digits
}
