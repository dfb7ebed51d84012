import Turnstone
import Unix

// A message that is held for a user leaves its notification for a box, `held/<moment>/<box>/<message>.jsonl`.
// There is one box for each of the user's devices and each moment at which its messages must be looked at. In
// the box, the message is a notification of one device, under its own id. When the user may get messages
// again, all boxes of the device become the folder `held/released/<release>/`, and a notification of that id,
// the release, brings the messages with one push.

extension Spool {
    private var boxes: String { "\(folder)/held" }

    private var released: String { "\(boxes)/released" }

    private func released(_ release: String) -> String { "\(released)/\(release)" }

    /// The moments that have boxes, earliest first.
    private func moments() throws(Failure) -> [WaitingFolder] {
        try names(in: boxes).compactMap { WaitingFolder(name: $0) }
            .sorted { $0.until < $1.until }
    }

    /// Removes files of held messages that were not finished, from one in 257 of the moments. A moment may have as
    /// many boxes as there are devices.
    func sweepBoxes(_ turn: Int64, until end: Instant) throws(Failure) {
        for moment in try moments() where moment.until.seconds / 60 % 257 == turn {
            for box in try names(in: "\(boxes)/\(moment.name)") {
                guard Instant.now < end else { return }
                try removeAbandoned(in: "\(boxes)/\(moment.name)/\(box)")
            }
        }
    }

    /// Puts a message into a device's box, to be looked at again at a moment.
    ///
    /// - Parameter moment: that moment. If the message expires earlier, it is looked at then.
    @export(interface)
    package func hold(
        _ message: Notification, _ delivery: Delivery, in box: HeldBox, until moment: Timestamp,
        now: Timestamp
    ) throws(Failure) {
        let folder = WaitingFolder(
            .putOff(until: min(moment, message.expires)), now: now, expires: message.expires)
        try write("\(boxes)/\(folder.name)/\(box.name)/\(message.id).jsonl") {
            (writer) throws(Failure) in
            try writer.begin(message.members)
            var number = 0
            try writer.append(delivery, &number)
            if let series = message.series {
                try countHeld(1, in: series, until: message.latestExpiration, now: now)
            }
        }
    }

    /// The moments that had boxes when they were listed. There are thousands if many users have quiet hours.
    package struct HeldMoments {
        fileprivate let folders: [WaitingFolder]
    }

    package func heldMoments() throws(Failure) -> HeldMoments {
        HeldMoments(folders: try moments())
    }

    /// The boxes whose moment has come, at most `most` of them.
    @export(interface)
    package func dueBoxes(
        among moments: HeldMoments, at now: Timestamp, most: Int
    ) throws(Failure) -> [HeldBox] {
        var due: [HeldBox] = []
        for moment in moments.folders where moment.isDue(at: now) {
            let list = FolderList("\(boxes)/\(moment.name)")
            do throws(SystemError) {
                while due.count < most, let name = try list.next() {
                    if let box = HeldBox(folder: name), !due.contains(box) { due.append(box) }
                }
            } catch { try skip(error) }
            // An empty folder is left only by a crash.
            if due.isEmpty { Files.removeEmptyFolder("\(boxes)/\(moment.name)") }
        }
        return due
    }

    /// The user of a box that is due only because the user's preferences have changed, by the id in its name;
    /// `nil` for any other box.
    @export(interface)
    package func userOfEarlyBox(
        _ box: HeldBox, among moments: HeldMoments, at now: Timestamp
    ) throws(Failure) -> UserID? {
        var user: UserID?
        for moment in moments.folders where moment.isDue(at: now) {
            let folder = "\(boxes)/\(moment.name)/\(box.name)"
            let isEarly = moment.deadline.map { $0 > now } ?? false
            if isEarly {
                if user == nil { user = try userOfBox(folder) }
            } else if try exists(folder) {
                return nil
            }
        }
        return user
    }

    private func userOfBox(_ folder: String) throws(Failure) -> UserID? {
        let list = FolderList(folder)
        do throws(SystemError) {
            while let name = try list.next() {
                guard idOfFile(name) != nil else { continue }
                // Damage is reported when the message is released.
                do throws(Failure) {
                    if let user = try userOfHeldMessage(at: "\(folder)/\(name)") { return user }
                } catch {}
            }
        } catch { try skip(error) }
        return nil
    }

    /// Makes a box wait again that was made due early, without reading its messages: until a moment, or until
    /// it would have been due anyway.
    @export(interface)
    package func postpone(
        _ box: HeldBox, until moment: Timestamp, among moments: HeldMoments, now: Timestamp
    ) throws(Failure) {
        for due in moments.folders where due.isDue(at: now) {
            guard let deadline = due.deadline else { continue }
            let source = "\(boxes)/\(due.name)"
            guard try exists("\(source)/\(box.name)") else { continue }
            let target = WaitingFolder(
                .putOff(until: min(moment, deadline)), now: now, expires: deadline)
            try move("\(source)/\(box.name)", to: "\(boxes)/\(target.name)/\(box.name)")
            Files.removeEmptyFolder(source)
        }
    }

    /// Whether a message is held for a device, or is in a release to it.
    ///
    /// - Parameter release: a release to ignore.
    package func isHeld(
        _ message: String, in box: HeldBox, besides release: String? = nil
    ) throws(Failure) -> Bool {
        for moment in try names(in: boxes) {
            if try exists(message, in: "\(boxes)/\(moment)/\(box.name)") { return true }
        }
        return try releasedBoxes(of: message, besides: release).contains(box.name)
    }

    /// The names of all boxes in which a message is held, or was held before it went into a release. For a
    /// message to many devices, call this once: a search for each device would go through all moments each
    /// time.
    @export(interface)
    package func boxes(of message: String) throws(Failure) -> Set<String> {
        var found = try releasedBoxes(of: message)
        for moment in try moments() {
            let folder = "\(boxes)/\(moment.name)"
            for name in try names(in: folder) {
                if try exists(message, in: "\(folder)/\(name)") { found.insert(name) }
            }
        }
        return found
    }

    /// What is held of a message, in boxes and in releases that are not over. It goes through all of them.
    func heldParts(of message: String) throws(Failure) -> [HeldMessage] {
        var parts: [HeldMessage] = []
        for moment in try moments() {
            let folder = "\(boxes)/\(moment.name)"
            for name in try names(in: folder) {
                let path = "\(folder)/\(name)/\(message).jsonl"
                // Damage is reported when the message is released.
                do throws(Failure) {
                    if let part = try heldMessage(at: path) { parts.append(part) }
                } catch { guard Damage.explains(error) else { throw error } }
            }
        }
        for release in try names(in: released) where release.utf8.count == 36 {
            guard try exists(message, in: released(release)) else { continue }
            parts += try messages(of: release, damaged: { (_, _, _) in }).filter {
                $0.id == message
            }
        }
        return parts
    }

    /// Those of some boxes, by name, in which a message is held. One that a merged device has put back into its present
    /// id's box counts as being in the box of its former one.
    func boxes(among candidates: Set<String>, with message: String) throws(Failure) -> Set<String> {
        let moments = try moments().map { "\(boxes)/\($0.name)" }
        var found: Set<String> = []
        for folder in moments where found.count < candidates.count {
            let isListed = candidates.count > Self.mostAsked
            let names =
                isListed ? try names(in: folder).filter(candidates.contains) : Array(candidates)
            for name in names where !found.contains(name) {
                if try exists(message, in: "\(folder)/\(name)") { found.insert(name) }
            }
        }
        var missing = candidates.subtracting(found)
        for folder in moments where !missing.isEmpty {
            let users = Set(missing.map(HeldBox.prefix))
            for name in try names(in: folder)
            where !candidates.contains(name) && users.contains(HeldBox.prefix(name)) {
                guard try exists(message, in: "\(folder)/\(name)"),
                    let other = missing.first(where: { HeldBox.prefix($0) == HeldBox.prefix(name) })
                else { continue }
                missing.remove(other)
                found.insert(other)
            }
        }
        return found
    }

    /// How many boxes are asked for one by one. To list a folder that may have thousands takes longer.
    private static let mostAsked = 32

    /// The names of the boxes in which a message was held before it went into a release that is not over.
    func releasedBoxes(
        of message: String, besides known: String? = nil
    ) throws(Failure) -> Set<String> {
        var found: Set<String> = []
        for release in try names(in: released) where release.utf8.count == 36 && release != known {
            guard try exists(message, in: released(release)) else { continue }
            for held in try messages(of: release, damaged: { (_, _, _) in })
            where held.id == message {
                if let box = held.box { found.insert(box.name) }
            }
        }
        return found
    }

    /// Whether a box or a release may be in a folder that cannot be entered, or be one.
    ///
    /// - Parameter candidates: the names of the boxes.
    func hasClosedBoxes(among candidates: Set<String>) throws(Failure) -> Bool {
        let moments = try moments().map { "\(boxes)/\($0.name)" }
        let releases = try releases().map { released($0) }
        for folder in [boxes, released] + moments + releases {
            if try isClosed(folder) { return true }
        }
        for moment in moments {
            let present =
                candidates.count > Self.mostAsked
                ? try names(in: moment).filter(candidates.contains) : Array(candidates)
            for name in present where try isClosed("\(moment)/\(name)") { return true }
        }
        return false
    }

    private func isClosed(_ folder: String) throws(Failure) -> Bool {
        do throws(SystemError) {
            // The dot is for a folder only.
            if try Files.exists("\(folder)/.") {
                _ = try FolderList(folder).next()
                return false
            }
            return try Files.exists(folder) || Files.target(ofLink: folder) != nil
        } catch {
            try skip(error)
            return true
        }
    }

    private func exists(_ message: String, in folder: String) throws(Failure) -> Bool {
        try exists("\(folder)/\(message).jsonl")
    }

    private func exists(_ path: String) throws(Failure) -> Bool {
        do throws(SystemError) { return try Files.exists(path) } catch {
            try skip(error)
            return false
        }
    }

    /// Whether any message is held. A release has the messages of its boxes until it is finished.
    package func holdsAnything() throws(Failure) -> Bool {
        if try !moments().isEmpty { return true }
        return try !names(in: released).isEmpty
    }

    /// The earliest moment at which a box must be looked at: now, if a drainer was killed during a release.
    func nextBox(at now: Timestamp) throws(Failure) -> Timestamp? {
        if try !orphanedReleases().isEmpty { return now }
        let moments = try moments()
        return moments.contains { $0.isDue(at: now) }
            ? min(now, moments.first?.until ?? now) : moments.first?.until
    }

    /// Since when the oldest box is overdue, or the oldest release is not accepted.
    func oldestBox(at now: Timestamp) throws(Failure) -> Timestamp? {
        var oldest = try moments().first { $0.until <= now }?.until
        for release in try missing(among: releases(), orMay: false) {
            guard let since = try changed(released(release), at: now) else { continue }
            oldest = min(oldest ?? since, since)
        }
        return oldest
    }

    /// Moves everything that is held for a device into a release that is not accepted yet.
    ///
    /// - Returns: the moment until which the last of it was held; `nil` if there is nothing.
    @discardableResult
    @export(interface)
    package func release(
        _ box: HeldBox, as release: String, among moments: HeldMoments
    ) throws(Failure) -> Timestamp? {
        var end: Timestamp?
        for moment in moments.folders {
            let folder = "\(boxes)/\(moment.name)"
            guard try exists("\(folder)/\(box.name)") else { continue }
            try move("\(folder)/\(box.name)", to: released(release))
            Files.removeEmptyFolder(folder)
            end = max(end ?? moment.until, moment.until)
        }
        return end
    }

    /// Moves messages from a release back into the box, until a moment or until the first of them expires.
    @export(interface)
    package func putBack(
        _ messages: [HeldMessage], of release: String, into box: HeldBox, until moment: Timestamp,
        now: Timestamp
    ) throws(Failure) {
        let expires = messages.map { $0.notification.end(heldUntil: moment) }.min() ?? moment
        let folder = WaitingFolder(
            .putOff(until: min(moment, expires)), now: now, expires: expires)
        let source = released(release)
        let target = "\(boxes)/\(folder.name)/\(box.name)"
        let files = Set(messages.map { Files.name(of: $0.path) })
        try retrying(source) { () throws(SystemError) in
            let names = try Files.names(in: source).filter(files.contains)
            if names.isEmpty { return true }
            return try moveFiles(names, from: source, to: target)
        }
    }

    /// Puts messages from a release back into their boxes. They are due at once.
    @export(interface)
    package func putBack(
        _ messages: [HeldMessage], of release: String, now: Timestamp
    ) throws(Failure) {
        var boxes: [HeldBox] = []
        for box in messages.compactMap({ $0.box }) where !boxes.contains(box) { boxes.append(box) }
        for box in boxes {
            try putBack(
                messages.filter { $0.box == box }, of: release, into: box, until: now, now: now)
        }
    }

    /// Makes everything that is held for a user due, so that the drainer looks at it again as soon as it can.
    ///
    /// - Returns: whether anything is held.
    @export(interface)
    package func lookAgain(at user: UserID, now: Timestamp) throws(Failure) -> Bool {
        var isAnything = false
        let prefix = HeldBox.prefix(of: user)
        for moment in try moments() {
            let folder = "\(boxes)/\(moment.name)"
            for name in try names(in: folder) where name.utf8.starts(with: prefix.utf8) {
                isAnything = true
                guard !moment.isDue(at: now) else { continue }
                let due = WaitingFolder(dueAt: now, insteadOf: moment.deadline ?? moment.until)
                try move("\(folder)/\(name)", to: "\(boxes)/\(due.name)/\(name)")
            }
            Files.removeEmptyFolder(folder)
        }
        return isAnything
    }

    /// Moves a folder, or only its files if the target exists. Others may move either of them meanwhile, and
    /// remove the parent folder if it is empty.
    ///
    /// - Throws: later, if something is left in the folder. Otherwise it is empty or gone.
    private func move(_ folder: String, to target: String) throws(Failure) {
        try retrying(folder) { () throws(SystemError) in
            try Files.makeFolder(Files.parent(of: target))
            do throws(SystemError) {
                try Files.rename(folder, target)
                try Files.synchronizeFolder(Files.parent(of: target))
                return true
            } catch {
                switch error.errno {
                case .notDirectory: return true  // a file that is not the spool's
                case .noEntry: return try !Files.exists(folder)
                case .exists, .notEmpty:
                    return try moveFiles(Files.names(in: folder), from: folder, to: target)
                        && Files.removeEmptyFolder(folder)
                default: throw error
                }
            }
        }
    }

    /// Repeats a move while other processes are in the way, up to 100 times.
    ///
    /// - Parameter move: returns whether it is done.
    private func retrying(
        _ folder: String, move: () throws(SystemError) -> Bool
    ) throws(Failure) {
        for _ in 0..<100 {
            if try systemCalls(move) { return }
        }
        throw Failure(
            .later(seconds: 1),
            "unable to move \(folder): other processes moved it during 100 attempts; try again",
            cause: FailureCause.busy)
    }

    /// - Returns: whether all of them were there.
    private func moveFiles(
        _ names: [String], from folder: String, to target: String
    ) throws(SystemError) -> Bool {
        do throws(SystemError) {
            try Files.makeFolder(target)
            for name in names { try Files.rename("\(folder)/\(name)", "\(target)/\(name)") }
            try Files.synchronizeFolder(target)
            return true
        } catch {
            guard error.errno == .noEntry else { throw error }
            return false
        }
    }
}

// MARK: Another number of queues

extension Spool {
    /// Moves everything that is held to other queues.
    ///
    /// - Parameters:
    ///   - target: the queue of a user, by the digest of the user's id in the name of a box.
    ///   - report: called with the failure of each file or folder that cannot be moved, and stays.
    ///   - prepare: called with each message, and the queue that it goes to, before it is moved.
    func moveHeld(
        to target: (String) -> Spool, report: (Failure) -> Void,
        prepare: (Notification, Spool) throws(Failure) -> Void
    ) throws(Failure) {
        for moment in try moments() {
            let folder = "\(boxes)/\(moment.name)"
            for name in try names(in: folder) where HeldBox(folder: name) != nil {
                let box = "\(folder)/\(name)"
                let queue = target(name)
                do throws(Failure) {
                    try forEachMessage(in: box) { (message) throws(Failure) in
                        try prepare(message, queue)
                    }
                    try move(box, to: "\(queue.boxes)/\(moment.name)/\(name)")
                } catch {
                    guard error.file != nil else { throw error }
                    report(error)
                }
            }
            Files.removeEmptyFolder(folder)
        }
        for release in try names(in: released) where release.utf8.count == 36 {
            do throws(Failure) {
                let messages = try messages(of: release, damaged: { (_, _, _) in })
                let queue = target(messages.first?.box?.name ?? "")
                for message in messages { try prepare(message.notification, queue) }
                try move(released(release), to: queue.released(release))
            } catch {
                guard error.file != nil else { throw error }
                report(error)
            }
        }
    }

    private func forEachMessage(
        in box: String, _ body: (Notification) throws(Failure) -> Void
    ) throws(Failure) {
        for name in try names(in: box) where idOfFile(name) != nil {
            do throws(Failure) {
                if let file = try SpoolFile.open("\(box)/\(name)") { try body(file.notification) }
            } catch {
                guard Damage.explains(error) else { throw error }
            }
        }
    }
}

// MARK: What a release brings

extension Spool {
    /// The releases whose notification is not in the spool: they are not accepted yet, or finished and not
    /// removed.
    @export(interface)
    package func orphanedReleases() throws(Failure) -> [String] {
        try missing(among: releases(), orMay: true)
    }

    private func releases() throws(Failure) -> [String] {
        try names(in: released).filter { $0.utf8.count == 36 }
    }

    /// Whether a release may be orphaned: its notification is in no folder that can be entered.
    package func hasUnclearReleases() throws(Failure) -> Bool {
        try missing(among: releases(), orMay: false) != orphanedReleases()
    }

    /// Returns those of the ids whose notifications are not in the spool.
    ///
    /// - Parameter isEnough: whether one counts as in the spool if it may be in a folder that cannot be
    ///   entered.
    @export(interface)
    package func missing(
        among ids: [String], orMay isEnough: Bool
    ) throws(Failure) -> [String] {
        guard ids.count > 64 else {
            var missing: [String] = []
            for id in ids where try !(isEnough ? mayContain(id) : contains(id)) {
                missing.append(id)
            }
            return missing.sorted()
        }
        if isEnough, try misplacedFolder() != nil { return [] }
        // For thousands, list each folder once instead of looking for each in all of them. List twice,
        // because one may be put off meanwhile.
        var missing = Set(ids)
        for _ in 0..<2 where !missing.isEmpty {
            for folder in try folders() {
                let list = FolderList(folder)
                do throws(SystemError) {
                    while let name = try list.next() {
                        if let id = idOfFile(name) { missing.remove(id) }
                    }
                } catch {
                    try skip(error)
                    if isEnough { return [] }
                }
            }
        }
        return missing.sorted()
    }

    /// The ids of the messages that a release has yet to bring.
    package func messageIDs(of release: String) throws(Failure) -> [String] {
        try names(in: released(release)).compactMap { idOfFile($0) }
    }

    /// The messages that a release brings, oldest first.
    ///
    /// - Parameter damaged: called with the id of each message whose file cannot be used.
    @export(interface)
    package func messages(
        of release: String,
        damaged: (_ message: String, _ path: String, Failure) throws(Failure) -> Void
    ) throws(Failure) -> [HeldMessage] {
        var messages: [HeldMessage] = []
        for path in try paths(ofRelease: release) {
            do throws(Failure) {
                if let message = try heldMessage(at: path) { messages.append(message) }
            } catch {
                guard Damage.explains(error) else { throw error }
                try damaged(idOfHeldMessage(at: path), path, error)
            }
        }
        messages.sortForRelease()
        return messages
    }

    /// The paths of the files of a release's messages.
    package func paths(ofRelease release: String) throws(Failure) -> [String] {
        let folder = released(release)
        return try names(in: folder).filter { idOfFile($0) != nil }.map { "\(folder)/\($0)" }
    }

    /// The id of the message in a file, by the file's name.
    package func idOfHeldMessage(at path: String) -> String {
        idOfFile(Files.name(of: path)) ?? ""
    }

    /// The user of a held message, of whose file only the first line has to be readable; `nil` if there is no such
    /// file.
    package func userOfHeldMessage(at path: String) throws(Failure) -> UserID? {
        try SpoolFile.open(path)?.notification.user
    }

    /// Reads a held message; `nil` if there is no such file.
    ///
    /// - Throws: damage, if the file cannot be used.
    @export(interface)
    package func heldMessage(at path: String) throws(Failure) -> HeldMessage? {
        guard let file = try SpoolFile.open(path) else {
            guard Files.target(ofLink: path) != nil else { return nil }
            throw corrupt(path)  // a dangling link
        }
        guard file.notification.id == idOfHeldMessage(at: path), let delivery = try file.next()
        else { throw corrupt(path) }
        return HeldMessage(notification: file.notification, delivery: delivery, path: path)
    }

    /// The messages of a release that was sent, without damaged ones: those that its push has shown, and those
    /// that they replace.
    @export(interface)
    package func contents(
        of release: String
    ) throws(Failure) -> (shown: [HeldMessage], hidden: [HeldMessage]) {
        var newer = NewestStates()
        var shown: [HeldMessage] = []
        var hidden: [HeldMessage] = []
        for message in try messages(of: release, damaged: { (_, _, _) in }).reversed() {
            let series = message.notification.series
            if let series, newer.replaces(series) {
                hidden.append(message)
            } else {
                shown.append(message)
            }
            if let series { newer.insert(series) }
        }
        return (shown, hidden)
    }

    /// The messages in the boxes of a user.
    func messagesHeld(for user: UserID) throws(Failure) -> Set<String> {
        var messages: Set<String> = []
        let prefix = HeldBox.prefix(of: user)
        for moment in try moments() {
            let folder = "\(boxes)/\(moment.name)"
            for name in try names(in: folder) where name.utf8.starts(with: prefix.utf8) {
                messages.formUnion(try names(in: "\(folder)/\(name)").compactMap { idOfFile($0) })
            }
        }
        return messages
    }

    /// The messages of all releases.
    func beingReleased() throws(Failure) -> Set<String> {
        var messages: Set<String> = []
        for release in try names(in: released) where release.utf8.count == 36 {
            messages.formUnion(try messageIDs(of: release))
        }
        return messages
    }

    /// Moves the file of a message that cannot be read to `failed/`.
    package func setAside(_ message: String, _ path: String, now: Timestamp) throws(Failure) {
        try systemCalls(moveToFailed(path, as: "\(message)-held.jsonl", now: now))
    }

    /// Removes held messages. Call it once the receipts durably say what became of them.
    @export(interface)
    package func forget(_ messages: [HeldMessage], now: Timestamp) throws(Failure) {
        for message in messages { Files.remove(message.path) }
        try recordForgotten(messages.map { $0.notification }, now: now)
    }

    /// Takes messages out of the counts of their series, with one durable write for each series.
    private func recordForgotten(_ messages: [Notification], now: Timestamp) throws(Failure) {
        var counts: [String: (newest: Series, count: Int64)] = [:]
        for series in messages.compactMap({ $0.series }) {
            let name = (series.keys + [series.scope]).joined(separator: "/")
            let known = counts[name] ?? (series, 0)
            let newest = known.newest.order < series.order ? series : known.newest
            counts[name] = (newest, known.count + 1)
        }
        for (series, count) in counts.values {
            try countHeld(-count, in: series, until: now, now: now)
            // Their notifications may still be for other devices.
            try tidy(series, without: nil, now: now)
        }
    }

    /// Removes the folder of a release that brings nothing.
    package func forgetRelease(_ release: String) throws(Failure) {
        let folder = released(release)
        try systemCalls(Files.removeFolder(folder))
    }

    /// Removes messages that a release has brought, as long as there is time.
    @export(interface)
    package func remove(
        _ messages: inout [HeldMessage], now: Timestamp, while hasTime: () -> Bool
    ) throws(Failure) {
        var removed: [Notification] = []
        while hasTime(), let message = messages.popLast() {
            if Files.remove(message.path) { removed.append(message.notification) }
        }
        try recordForgotten(removed, now: now)
    }

    /// Removes the messages that a release has brought. Call it before the release itself is removed:
    /// otherwise they would be sent again.
    ///
    /// A damaged one is moved to `failed/`, or removed where that is impossible.
    @export(interface)
    package func finishRelease(_ release: String, now: Timestamp) throws(Failure) {
        let messages = try messages(of: release) { (id, path, _) in
            do throws(Failure) { try setAside(id, path, now: now) } catch {
                if error.disposition == .broken { Files.remove(path) }
            }
        }
        let removed = messages.filter { Files.remove($0.path) }
        try recordForgotten(removed.map { $0.notification }, now: now)
        guard try messageIDs(of: release).isEmpty else {
            throw Failure(
                .later(seconds: 5),
                "unable to remove the files in \(released(release)): check that deliver may write to this folder",
                cause: "stuck", file: released(release))
        }
        try forgetRelease(release)
    }

    /// Removes everything that is held for a user.
    ///
    /// - Parameters:
    ///   - each: called with each message, before any is removed.
    ///   - commit: called after `each` and before the removal. It makes durable what `each` recorded.
    func eraseHeld(
        of name: ErasedName, now: Timestamp, _ unreadable: inout Skipped,
        each: (SpoolFile, Delivery) -> Void, commit: () throws(Failure) -> Void
    ) throws(Failure) {
        var paths: [String] = []
        let prefix = HeldBox.prefix(of: name.user)
        // What cannot be listed counts as empty below.
        for folder in [boxes, released] { _ = try unreadable.names(in: folder) }
        for moment in try moments() {
            let folder = "\(boxes)/\(moment.name)"
            for name in try unreadable.names(in: folder)
            where name.utf8.starts(with: prefix.utf8) {
                paths.append("\(folder)/\(name)")
            }
        }
        for release in try missing(among: releases(), orMay: false) {
            _ = try unreadable.names(in: released(release))
            if try owner(ofRelease: release) == name.user {
                paths.append(released(release))
            } else {
                try eraseDamaged(of: name, inRelease: release, &unreadable)
            }
        }
        for box in paths { try forEachHeld(in: box, &unreadable, each) }
        try commit()
        for box in paths { try eraseBox(box, now: now, &unreadable) }
    }

    /// The releases of messages that were held for a user.
    func releases(to user: UserID) throws(Failure) -> [String] {
        var found: [String] = []
        for release in try releases() where try owner(ofRelease: release) == user {
            found.append(release)
        }
        return found
    }

    /// The user of a release's messages; `nil` if none of them can be read.
    private func owner(ofRelease release: String) throws(Failure) -> UserID? {
        for path in try paths(ofRelease: release) {
            do throws(Failure) {
                if let owner = try userOfHeldMessage(at: path) { return owner }
            } catch { guard Damage.explains(error) else { throw error } }
        }
        return nil
    }

    private func eraseDamaged(
        of name: ErasedName, inRelease release: String, _ unreadable: inout Skipped
    ) throws(Failure) {
        for path in try paths(ofRelease: release) {
            do throws(Failure) { _ = try userOfHeldMessage(at: path) } catch {
                guard Damage.explains(error) else { throw error }
                try unreadable.attempt { () throws(SystemError) in
                    try eraseLines(of: name, in: path)
                } then: { (_) in
                }
            }
        }
    }

    private func forEachHeld(
        in box: String, _ unreadable: inout Skipped,
        _ body: (SpoolFile, Delivery) throws(Failure) -> Void
    ) throws(Failure) {
        for name in try unreadable.names(in: box) {
            do throws(Failure) {
                guard let file = try SpoolFile.open("\(box)/\(name)"),
                    let delivery = try file.next()
                else { continue }
                try body(file, delivery)
            } catch {
                guard Damage.explains(error) else { throw error }
            }
        }
    }

    private func eraseBox(
        _ box: String, now: Timestamp, _ unreadable: inout Skipped
    ) throws(Failure) {
        var messages: [Notification] = []
        try forEachHeld(in: box, &unreadable) { (file, _) in messages.append(file.notification) }
        try recordForgotten(messages, now: now)
        try unreadable.attempt { () throws(SystemError) in
            try Files.removeFolder(box)
        } then: { (_) in
        }
        Files.removeEmptyFolder(Files.parent(of: box))
    }
}

extension [HeldMessage] {
    /// Sorts the messages of a release, oldest first.
    package mutating func sortForRelease() {
        sort { $0.notification.releaseOrder < $1.notification.releaseOrder }
    }
}

extension Notification {
    /// The place of a held message among those that a release brings: that of its acceptance. A state that
    /// its sender wanted later comes after those that were accepted before that moment.
    fileprivate var releaseOrder: Int64 {
        let place = order ?? accepted.milliseconds.saturatingMultiply(1_000_000)
        guard series?.isScheduled == true, let scheduled else { return place }
        let wait = (scheduled.milliseconds - accepted.milliseconds).saturatingMultiply(1_000_000)
        return place.saturatingAdd(wait)
    }
}
