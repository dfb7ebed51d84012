import Spool
import Store
import Turnstone
import Unix

/// What keeps an installation from its work, each with a `problem` that names its kind.
func problems(of state: State, at now: Timestamp) throws(Failure) -> [JSONValue] {
    var problems: [JSONValue] = []
    for stop in try state.deliveryStops() {
        problems.append([
            "problem": "delivery stopped", "service": .string(stop.service),
            "reason": .string(stop.reason), "since": .string(CalendarDate(stop.since).text),
        ])
    }
    if let stuck = try Spool(state: state.folder).stuckDrainer(at: now) {
        problems.append([
            "problem": "drainer stuck", "process": .integer(Int64(stuck.process)),
            "since": .string(CalendarDate(stuck.since).text),
        ])
    }
    let room = try systemCalls { () throws(SystemError) in try Files.room(at: state.folder) }
    if room.bytes < leastRoom || room.files < 100 {
        problems.append([
            "problem": "disk full", "bytes": .integer(Int64(clamping: room.bytes)),
            "files": .integer(Int64(clamping: room.files)),
        ])
    }
    return problems
}

/// What a drainer sets aside for receipts, and some documents beside it.
private let leastRoom: UInt64 = 4 << 20
