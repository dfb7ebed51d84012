import Turnstone

/// How a verdict changes a device's registration.
package enum RegistrationChange {
    /// `mayBeOurFault`: wrong settings of ours would give the same answer, so the device is kept until a push
    /// was accepted under them.
    case remove(goneSince: Timestamp, mayBeOurFault: Bool = false)
    /// The device was refused. `isBad`: no environment knows its token.
    case refuse(isBad: Bool, at: Timestamp)
    /// The device was found in the other environment.
    case move(to: APNsEnvironment)
}
