// storage-test: whether a file system keeps the promises that the programs need of a state folder.
//
//   in    arguments: the state folder, and the same folder as a second mount of the file system shows it
//   out   a line for each promise: "ok WHAT: HOW MANY in N ms" or "not ok WHAT: WHY"; storage.json in the state
//         folder, if all are kept
//   else  exit 100: a promise is broken, and storage.json is removed (not that of a test with one mount, after
//         one with two); or the arguments are wrong
//         exit 111: it could not be tried now, as on a full disk; storage.json stays as it was
//
// It starts itself twice, as `storage-test --worker FOLDER`: two processes, each with one of the mounts.

import Edge
import Store
import Turnstone
import Unix

ThisProcess.begin()
if ThisProcess.arguments.first == "--worker", ThisProcess.arguments.count == 2 {
    var worker = Worker(in: ThisProcess.arguments[1])
    worker.run()
}

let folders = operands(
    "STATE-FOLDER [SAME-FOLDER-ON-A-SECOND-MOUNT]",
    purpose: """
        Tries whether a file system keeps the promises that a state folder needs, with two processes and over
        hundreds of rounds each, and writes storage.json into the state folder if it does. Without that file, the
        other programs refuse a file system that several machines may share.

        With one folder, only this machine may use it afterwards. For several machines, mount the file system
        a second time on this machine, with the same options, and give the same folder on both mounts.

        Exit codes: 0 safe, 100 not safe or wrong arguments, 111 could not be tried now.
        """)
let log = Log()
do throws(Failure) {
    guard (1...2).contains(folders.count) else {
        throw Failure(
            .broken, "it takes one folder or two; \(ThisProcess.name) --help shows how",
            cause: "arguments")
    }
    for folder in folders where folder.utf8.first != UInt8(ascii: "/") {
        throw Failure(.broken, "\(folder) must be an absolute path", cause: "arguments")
    }
    try becomeOwner(of: folders[0], log)
    ThisProcess.deferTermination()
    let trial = try Trial(folders)
    let isSafe: Bool
    do throws(Failure) {
        isSafe = try trial.run { _ = writeAnswer(Array("\($0)\n".utf8)) }
    } catch {
        trial.end()
        throw error
    }
    trial.end()
    ThisProcess.exit(isSafe ? 0 : 100)
} catch {
    log.failure(error)
    if case .later = error.disposition { ThisProcess.exit(111) }
    ThisProcess.exit(100)
}
