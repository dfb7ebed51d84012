import Turnstone

/// All settings that `deliver` reads. `health` reads them too, and reports those that `deliver` would refuse.
package struct DeliverySettings {
    /// `DELIVER_LINGER_SECONDS`: how long an idle drainer waits for more.
    package let linger: Interval
    /// `nil` if pushes are written to files.
    package let apns: APNsSettings?

    /// - Throws: misconfigured, with the name of the variable, and of the file if one is at fault.
    package init(_ variables: Variables) throws(Failure) {
        let seconds = try variables.number("DELIVER_LINGER_SECONDS", standard: 5, in: 0...3600)
        linger = .seconds(Int64(seconds))
        apns = try APNsSettings(variables)
    }
}
