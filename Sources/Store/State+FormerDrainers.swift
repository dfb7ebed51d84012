import Documents
import JSON
import Turnstone
import Unix

// Drainers of version 2 lock a document by a file of its own, and may run for days.

extension State {
    /// Asks the drainers of version 2 on this machine to end. One that this process cannot see, because it has
    /// another machine or namespace, ends by itself or with its service.
    func askFormerDrainersToEnd() {
        // If it cannot be done, the next program asks.
        do throws(Failure) {
            for drainer in try formerDrainers() {
                process(of: drainer)?.terminate()
            }
        } catch {}
    }

    /// Whether a drainer of version 2 may be running.
    func isFormerDrainerRunning() -> Bool {
        do throws(Failure) { return try !formerDrainers().isEmpty } catch {
            if error.isFileSpecific { error.recordFile() }
            return true
        }
    }

    /// The contents of each `drainer.lock` whose holder does not say that it knows the present layout.
    private func formerDrainers() throws(Failure) -> [[UInt8]] {
        var found: [[UInt8]] = []
        let spool = "\(folder)/spool"
        for queue in try systemCalls(Files.names(in: spool)) {
            do throws(SystemError) {
                let file = try FileDescriptor.open("\(spool)/\(queue)/drainer.lock", .read)
                guard try file.isLocked() else { continue }
                let bytes = try file.read(upTo: 4096, at: 0)
                if layout(in: bytes) < StateLayout.version { found.append(bytes) }
            } catch {
                guard [.noEntry, .notDirectory].contains(error.errno) else { throw error.failure }
            }
        }
        return found
    }

    private func layout(in sign: [UInt8]) -> Int64 {
        do throws(JSONError) { return try JSON.parse(sign).object?["layout"]?.integer ?? 0 } catch {
            return 0
        }
    }

    /// The drainer that a `drainer.lock` names, if it runs on this machine.
    func process(of sign: [UInt8]) -> OtherProcess? {
        var found: JSONObject?
        do throws(JSONError) { found = try JSON.parse(sign).object } catch {}
        guard let members = found, let process = members["pid"]?.integer,
            members["host"].map({ $0.string == ThisMachine.name }) ?? true
        else { return nil }
        return OtherProcess(process, program: "deliver")
            ?? OtherProcess(process, program: "deliver-web")
    }
}
