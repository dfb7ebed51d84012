import Turnstone
import Unix

/// The pace of requests to OGS: one schedule for all processes of the installation.
package struct Pace {
    let folder: String

    /// Reserves the next free time.
    ///
    /// - Parameter perSecond: how many requests may begin in a second.
    /// - Returns: how long to wait until that time.
    ///
    /// A schedule more than a minute ahead means that the clock was set back: the schedule starts over. This
    /// uses the system's clock even if `TURNSTONE_NOW` stops ours, because OGS gets real requests.
    package func reserve(perSecond: Int) throws(Failure) -> Interval {
        let path = "\(folder)/ogs.pace"
        let distance = max(1, 1_000_000 / Int64(perSecond))
        let present = Timestamp.systemNow.milliseconds * 1000
        return try systemCalls { () throws(SystemError) in
            let lock = try FileDescriptor.open(path, .update)
            guard try lock.lock(patience: .seconds(2)) else { return Interval.seconds(1) }
            defer { lock.unlock() }
            // Opened with the lock held, to see what another machine has written.
            let file = try FileDescriptor.open(path, .overwrite)
            let text = String(decoding: try file.read(upTo: 20, at: 0), as: UTF8.self)
            var next = Int64(text) ?? 0
            if next < present || next > present + 60_000_000 { next = present }
            let digits = Array(String(next + distance).utf8)
            try file.write(
                [UInt8](repeating: UInt8(ascii: "0"), count: 20 - digits.count) + digits, at: 0)
            return Interval(milliseconds: (next - present + 999) / 1000)
        }
    }
}
