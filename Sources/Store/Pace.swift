import Turnstone
import Unix

/// The pace of requests to OGS: one schedule for all processes of the installation.
package struct Pace {
    let folder: String

    /// Reserves the next free time.
    ///
    /// - Parameters:
    ///   - perSecond: how many requests may begin in a second.
    ///   - patience: the longest wait. A request that cannot wait longer gets no slot.
    /// - Returns: how long to wait until that time; `nil` if that is longer, and nothing is reserved.
    ///
    /// A schedule more than a minute ahead means that the clock was set back: the schedule starts over. This
    /// uses the system's clock even if `TURNSTONE_NOW` stops ours, because OGS gets real requests.
    package func reserve(perSecond: Int, within patience: Interval) throws(Failure) -> Interval? {
        let path = "\(folder)/ogs.pace"
        let distance = max(1, 1_000_000 / Int64(perSecond))
        let present = Timestamp.systemNow.milliseconds * 1000
        return try systemCalls { () throws(SystemError) -> Interval? in
            let file = try FileDescriptor.open(path, .update)
            guard try file.lock(patience: .seconds(2)) else { return .seconds(1) }
            defer { file.unlock() }
            let text = String(decoding: try file.read(upTo: 20, at: 0), as: UTF8.self)
            var next = Int64(text) ?? 0
            if next < present || next > present + 60_000_000 { next = present }
            let pause = Interval(milliseconds: (next - present + 999) / 1000)
            guard pause <= patience else { return nil }
            let digits = Array(String(next + distance).utf8)
            try file.write(
                [UInt8](repeating: UInt8(ascii: "0"), count: 20 - digits.count) + digits, at: 0)
            return pause
        }
    }

    /// The same, however long the wait is.
    package func reserve(perSecond: Int) throws(Failure) -> Interval {
        try reserve(perSecond: perSecond, within: .hours(1)) ?? .hours(1)
    }
}
