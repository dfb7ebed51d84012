import Documents
import Turnstone
import Unix

// When a user leaves a device, its icon still shows the user's waiting games, and nobody else knows about them.
// The number is written down before the user's document is changed, so neither a busy lock nor a kill loses it.
// `check-turns` gives it to another player of the device, whose next look corrects the icon.

extension Registry {
    /// Writes down what the icons of devices show that the user is going to lose. Call it with the lock of the
    /// user's document held, right before the commit.
    ///
    /// - Parameter isReplaced: whether the user has other tokens in their place. Then there is nothing to hand
    ///   over unless another user may have the device.
    func beginHandOvers(
        of devices: [Device], from user: UserID, isReplaced: Bool = false
    ) throws(Failure) {
        for device in devices {
            guard let shown = device.turnsToHandOver else { continue }
            if isReplaced, try !mayBeShared(device.token, by: user) { continue }
            let name = DocumentName(single: hex(try randomBytes(16)))
            do throws(Failure) {
                try state.handOvers[named: name].writeUnlocked(
                    HandOver(of: device, showing: shown, lock: state.users[user].lock))
            } catch {
                // A folder that cannot be used must not keep anybody from leaving.
                guard error.isDocumentSpecific else { throw error }
                error.recordFile()
            }
        }
    }

    /// Gives each number that users have left on icons to another player of the device. What is busy or damaged
    /// stays for the next call, and does not affect the others. Only one process may call this at a time.
    @export(interface)
    package func finishHandOvers() {
        var names: [String] = []
        do throws(SystemError) { names = try Files.names(in: state.handOvers.folder) } catch {
            error.failure.recordFile()
        }
        for name in names {
            guard let document = handOver(inFile: name) else {
                // No program writes for so long.
                Files.removeLeftover("\(state.handOvers.folder)/\(name)", after: .hours(1))
                continue
            }
            do throws(Failure) {
                try Lock.waiting(upTo: .milliseconds(100)) { () throws(Failure) in
                    try finish(document)
                }
            } catch {
                error.recordFile()
            }
        }
    }

    /// - Returns: `nil` for a file that a killed program was writing.
    private func handOver(inFile name: String) -> StoredDocument<HandOver>? {
        guard name.utf8.suffix(5).elementsEqual(".json".utf8) else { return nil }
        let file = String(decoding: Array(name.utf8.dropLast(5)), as: UTF8.self)
        return state.handOvers[named: DocumentName(single: file)]
    }

    private func finish(_ document: StoredDocument<HandOver>) throws(Failure) {
        guard let handOver = try document.readUnlocked(), try !isUnderWay(handOver) else { return }
        try state.tokens[named: DocumentName(hash: handOver.token)].update {
            (holders) throws(Failure) in
            guard try give(handOver, to: holders.users) else {
                // The next player who registers the device corrects the number.
                holders.shownTurns = handOver.shownTurns.saturatingAdd(holders.shownTurns ?? 0)
                return
            }
        }
        // After a crash before this line, the number is corrected once more.
        Files.remove(document.path)
        try forgetFormerUsers(of: handOver.token)
    }

    /// Whether a number on the icon of a token's device waits for another player. One whose file cannot be read
    /// may be of any token.
    ///
    /// - Parameter token: its SHA-256.
    func isHandOverPending(of token: String) throws(Failure) -> Bool {
        var names: [String] = []
        do throws(SystemError) { names = try Files.names(in: state.handOvers.folder) } catch {
            guard error.errno.isFileSpecific else { throw error.failure }
        }
        for document in names.compactMap({ handOver(inFile: $0) }) {
            do throws(Failure) {
                if try document.readUnlocked()?.token == token { return true }
            } catch {
                guard error.isDocumentSpecific else { throw error }
                return true
            }
        }
        return false
    }

    /// Whether the user may be losing the device at this moment. If not, the user has lost it, or the program
    /// that was to remove it has ended. Then the number is right already, and correcting it does no harm.
    private func isUnderWay(_ handOver: HandOver) throws(Failure) -> Bool {
        try systemCalls { () throws(SystemError) in
            do throws(SystemError) {
                let file = try FileDescriptor.open(
                    "\(state.folder)/locks/users/\(handOver.lock)", .overwrite)
                let isFree = try file.lock(patience: .milliseconds(100))
                file.unlock()
                return !isFree
            } catch {
                guard error.errno == .noEntry else { throw error }
                return false  // nobody can hold it
            }
        }
    }

    /// Gives the number to the first of the users who is a player and has the device. One who has this token
    /// comes before those who have replaced it.
    ///
    /// - Returns: whether there is one.
    /// - Throws: what kept a user from being asked if none of the others has the device.
    private func give(_ handOver: HandOver, to users: [UserID]) throws(Failure) -> Bool {
        for ids in [[], handOver.ids] {
            var fault: Failure?
            for user in users {
                do throws(Failure) {
                    if try self.handOver(handOver.shownTurns, on: handOver.token, ids, to: user) {
                        return true
                    }
                } catch {
                    try error.recordIfOfOneDocument()
                    fault = error
                }
            }
            // That user may be the one who has this token.
            if let fault { throw fault }
        }
        return false
    }
}
