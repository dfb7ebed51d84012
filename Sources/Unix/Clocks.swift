import CUnix
import Turnstone

extension Instant {
    /// C: `clock_gettime(2)` with `CLOCK_MONOTONIC`.
    package static var now: Instant { Instant(milliseconds: microseconds / 1000) }

    /// Microseconds on the same clock, for measuring.
    package static var microseconds: Int64 {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return Int64(time.tv_sec) * 1_000_000 + Int64(time.tv_nsec) / 1000
    }
}

/// Sleeps for `pause`; a signal ends it early. C: `nanosleep(2)`.
package func sleep(for pause: Interval) {
    guard pause > .seconds(0) else { return }
    var time = timespec(
        tv_sec: Int(pause.seconds),
        tv_nsec: Int(pause.milliseconds % 1000) * 1_000_000)
    nanosleep(&time, nil)
}

extension Timestamp {
    /// The system's clock in nanoseconds since 1970. C: `clock_gettime(2)` with `CLOCK_REALTIME`.
    package static var systemNanoseconds: Int64 {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
    }

    /// The system's clock. C: `clock_gettime(2)` with `CLOCK_REALTIME`.
    package static var systemNow: Timestamp {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        return Timestamp(
            milliseconds: Int64(time.tv_sec) * 1000 + Int64(time.tv_nsec) / 1_000_000)
    }
}
