import Turnstone

/// How a verdict changes a device's registration.
package enum RegistrationChange {
    case remove(goneSince: Timestamp)
    /// The device was refused. `isBad`: no environment knows its token.
    case refuse(isBad: Bool, at: Timestamp)
    /// The device was found in the other environment.
    case move(to: APNsEnvironment)
}
