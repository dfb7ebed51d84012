import Turnstone
import Unix

extension Spool {
    /// Removes what a crash or a race of two programs has left: marks of series, and files that were not
    /// finished. Call it only while no notification has a file in `joint/`: its parts are accepted.
    ///
    /// Every half minute it takes another part of the folders: the series whose keys begin with another byte,
    /// and one in 257 of the others. (257 is prime, so each gets its turn whatever the time between two runs is,
    /// except for multiples of two hours.)
    @export(interface)
    package func sweep(at now: Timestamp) throws(Failure) {
        let turn = now.seconds / 30 % 257
        if let byte = UInt8(exactly: turn) { try sweepSeries(byte, at: now) }
        for (place, lane) in Lane.all.enumerated() where Int64(place) == turn {
            try removeAbandoned(in: ready(lane))
        }
        for folder in try waitingFolders() where folder.until.seconds / 60 % 257 == turn {
            try removeAbandoned(in: "\(waiting)/\(folder.name)")
            Files.removeEmptyFolder("\(waiting)/\(folder.name)")
        }
        try sweepBoxes(turn, until: .now + .milliseconds(200))
    }

    /// Removes the files of a folder that were not finished within 25 hours.
    func removeAbandoned(in folder: String) throws(Failure) {
        for name in try names(in: folder) { removeIfAbandoned("\(folder)/\(name)") }
    }
}
