import Turnstone

/// The pause before the next attempt. It doubles with each attempt, and is up to a quarter longer at random,
/// so that pushes that failed together are not sent again together.
///
/// - Parameters:
///   - attempt: 1 after the first attempt.
///   - longest: the limit of the doubling, without the random part.
///   - random: any byte.
package func backOff(
    _ pause: Interval, attempt: Int, longest: Interval = .hours(6), random: UInt8
) -> Interval {
    let longest = longest.milliseconds
    let doubled = min(longest, pause.milliseconds << Int64(min(max(attempt - 1, 0), 16)))
    return .milliseconds(doubled + doubled / 4 * Int64(random) / 255)
}
