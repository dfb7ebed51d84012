import Turnstone
import Unix

extension PushService {
    /// The program that drains its queue.
    package var drainerProgram: String { self == .web ? "deliver-web" : "deliver" }
}

extension Spool {
    var lockPath: String { "\(folder)/drainer.lock" }

    /// The right to be the drainer, or `nil` if another process has it.
    @export(interface)
    package func election() throws(Failure) -> Election? {
        let locked = try systemCalls { () throws(SystemError) -> FileDescriptor? in
            try Files.makeFolder(folder)
            while true {
                let file = try FileDescriptor.open(lockPath, .update)
                // Another process may hold it for an instant, to check whether it is held.
                guard try file.lock(patience: .milliseconds(5)) else { return nil }
                if try file.isStill(at: lockPath) { return file }
                try Files.makeFolder(folder)
            }
        }
        guard let locked else { return nil }
        let files = try ReceiptLog(of: self).files()
        let terms = files.volumes.map { $0.term } + files.setAside.map { $0.volume.term }
        let known = try Checkpoint(self).read()?.volume.term ?? 0
        return try Election(locked, at: lockPath, highest: terms.reduce(known, max))
    }

    /// Whether a process is its drainer now.
    package func isBeingDrained() throws(Failure) -> Bool {
        do throws(SystemError) {
            return try FileDescriptor.open(lockPath, .read).isLocked()
        } catch {
            guard error.errno == .noEntry else { throw error.failure }
            return false
        }
    }

    /// The drainer that holds the election but gives no sign of life, if there is one. Nobody else can do its
    /// work.
    package func stuckDrainer(at now: Timestamp) throws(Failure) -> StuckDrainer? {
        guard let stuck = try silentDrainer(at: now) else { return nil }
        // An old sign of life may still be there: after a crash until the next elected process writes one,
        // and after the clock was set back until the drainer's next round.
        sleep(for: .milliseconds(stuck.since > now ? 1500 : 100))
        guard try silentDrainer(at: now) == stuck else { return nil }
        return StuckDrainer(
            process: stuck.process, host: stuck.host, since: min(stuck.since, now))
    }

    private func silentDrainer(at now: Timestamp) throws(Failure) -> StuckDrainer? {
        guard let sign = try sign(), let beat = sign.beat, let process = sign.process,
            now - beat > StuckDrainer.patience || beat - now > StuckDrainer.patience
        else { return nil }
        let isHeld = try systemCalls(FileDescriptor.open(lockPath, .read).isLocked())
        return isHeld ? StuckDrainer(process: Int(process), host: sign.otherHost, since: beat) : nil
    }

    /// The contents of the lock file; `nil` if there is none.
    func sign() throws(Failure) -> Election.Sign? {
        do throws(SystemError) {
            return try Election.Sign(FileDescriptor.open(lockPath, .read))
        } catch {
            guard error.errno == .noEntry else { throw error.failure }
            return nil
        }
    }
}
