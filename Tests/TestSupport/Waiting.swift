import Foundation

/// Waits until something holds, and looks every 10 ms.
///
/// - Throws: if it does not hold within a minute, so that a program that has ended early fails its test and does
///   not hang it.
package func wait(until what: String, _ holds: () throws -> Bool) throws {
    let end = Date.now + 60
    while try !holds() {
        guard Date.now < end else { throw TestFailure("not within a minute: \(what)") }
        usleep(10_000)
    }
}
