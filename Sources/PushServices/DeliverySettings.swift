import Turnstone

/// All that `deliver` takes from the configuration. What it refuses, `health` reports.
package struct DeliverySettings {
    /// `DELIVER_LINGER_SECONDS`: how long an idle drainer waits for more.
    package let linger: Interval
    /// `nil` where pushes become files.
    package let apns: APNsSettings?

    /// - Throws: a sentence that names the variable, and the file where one is at fault.
    package init(_ variables: Variables) throws(Failure) {
        let seconds = try variables.number("DELIVER_LINGER_SECONDS", standard: 5, in: 0...3600)
        linger = .seconds(Int64(seconds))
        apns = try APNsSettings(variables)
    }
}
