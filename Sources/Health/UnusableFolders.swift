import Queueing
import Spool
import Store
import Turnstone
import Unix

/// The folders of a state folder whose contents no program can use.
struct UnusableFolders {
    private let state: State
    private var found: [(name: String, error: SystemError)] = []
    /// Why some folders could not be examined.
    private(set) var faults: [Failure] = []

    init(of state: State) {
        self.state = state
        examineShelves()
        for name in [
            "audience", "transfers", "handovers", "credentials", "statistics", "outgoing",
            "receipts", "spool", "spool/joint", "spool/throttles",
        ] {
            examine(name)
        }
        examineQueues()
    }

    /// Those without access, by their paths below the state folder.
    var closed: [String] {
        found.filter { $0.error.errno == .noAccess }.map { $0.name }
    }

    /// Those in whose place is something else: everything that would be inside counts as missing.
    var replaced: [Problem] {
        found.filter { $0.error.errno != .noAccess }.map { (name, error) in
            let path = "\(state.folder)/\(name)"
            return Problem(
                "no folder",
                error.errno == .notDirectory
                    ? "\(path) should be a folder, but is something else."
                    : "\(path) should be a folder, but \(error.reasonForFolder).",
                action: "Put the folder back, or remove what is in its place.",
                ["file": .string(path)])
        }
    }

    /// Whether a failure comes from one of the folders: one problem for it is enough.
    func explain(_ failure: Failure) -> Bool {
        guard let file = failure.file else { return false }
        return found.contains { (name, _) in
            let path = "\(state.folder)/\(name)"
            return file == path || isInside(file, path)
        }
    }

    /// Folders of users and the like are named by two digits of a digest, those of messages by the day.
    private mutating func examineShelves() {
        for shelf in State.shelves + ["watch", "messages", "locks"] {
            for name in namesOfFolders(in: shelf)
            where shelf == "locks" || [2, 10].contains(name.utf8.count) {
                let path = "\(shelf)/\(name)"
                let isLink =
                    shelf != "messages" && Files.target(ofLink: "\(state.folder)/\(path)") != nil
                examine(path, orLink: isLink)
            }
        }
    }

    private mutating func examineQueues() {
        let queues: [Spool]
        do throws(Failure) { queues = try state.spools.all() } catch {
            if !explain(error) { faults.append(error) }
            return
        }
        for queue in queues.map({ $0.name }) {
            examine(queue)
            for name in [
                "cancelled", "series", "failed", "ready", "ready/urgent", "ready/normal",
                "ready/backlog", "ready/bulk", "ready/throttled",
            ] {
                examine("\(queue)/\(name)")
            }
            for name in ["\(queue)/held", "\(queue)/waiting"] {
                for moment in namesOfFolders(in: name) { examine("\(name)/\(moment)") }
            }
        }
    }

    /// The names in a folder, without those of files. Adds the folder itself if it cannot be used.
    private mutating func namesOfFolders(in name: String) -> [String] {
        examine(name)
        do throws(SystemError) {
            return try Files.names(in: "\(state.folder)/\(name)").filter { !State.isNameOfFile($0) }
        } catch { return [] }  // it was added
    }

    /// Adds a folder if it is there and cannot be used, unless it is inside one that was added before.
    ///
    /// - Parameter isLink: whether it is a link, whose target may be missing.
    private mutating func examine(_ name: String, orLink isLink: Bool = false) {
        guard !found.contains(where: { isInside(name, $0.name) }) else { return }
        do throws(SystemError) { try Files.checkFolder("\(state.folder)/\(name)") } catch {
            switch error.errno {
            case .noAccess, .notDirectory, .loop: found.append((name, error))
            case .noEntry: if isLink { found.append((name, error)) }
            default: faults.append(error.failure)
            }
        }
    }
}

private func isInside(_ path: String, _ folder: String) -> Bool {
    path.utf8.starts(with: "\(folder)/".utf8)
}
