/// Why a push was not sent any more: the `reason` of ``Outcome/superseded`` in receipts, reports and histories.
///
/// The player's page and the operator's have a text for each.
package enum Supersession: String, Sendable {
    /// The games were answered.
    case answered
    /// A newer notification replaced it.
    case newer
    /// The user does not want its kind.
    case unwanted
    /// The user wants nothing now. The next notification includes it.
    case held
    /// The device is no longer the user's.
    case unregistered
    /// It is the same device as another one, whose outcome counts.
    case delivered
    /// The device cannot show it. It only ended older messages of its series.
    case unsuitable
    /// The filters of the message no longer mean the user or the device.
    case unselected
    /// Nothing of a release was left to send.
    case released
}
