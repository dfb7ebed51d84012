import CUnix
import Turnstone

/// Returns unpredictable bytes. C: `getrandom(2)`.
///
/// - Throws: a failure to retry in 5 seconds if the system has no random bytes.
package func randomBytes(_ count: Int) throws(Failure) -> [UInt8] {
    var result = 0
    let bytes = [UInt8](unsafeUninitializedCapacity: count) { buffer, filled in
        while filled < count {
            result = retried { getrandom(buffer.baseAddress! + filled, count - filled, 0) }
            guard result > 0 else { break }
            filled += result
        }
    }
    guard bytes.count == count else {
        let errno = Errno.current
        throw Failure(
            .later(seconds: 5), "unable to get random bytes: \(errno.reason)", cause: errno.name)
    }
    return bytes
}

/// Returns a random number that spreads events which would otherwise happen at once. If the system has no
/// random bytes, it comes from the clock.
package func jitter() -> UInt8 {
    do throws(Failure) { return try randomBytes(1)[0] } catch {
        return UInt8(truncatingIfNeeded: Instant.microseconds)
    }
}
