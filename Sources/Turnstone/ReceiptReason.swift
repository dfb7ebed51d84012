/// Why a delivery ended without a push, or waits, as receipts and reports say it. The reasons of the push
/// services and of failures appear there too, in their own words.
package enum ReceiptReason: String, CaseIterable, Sendable {
    // MARK: The outcome is `superseded`

    /// For a turn notice: no game waits for the player any more, or another notice told the player.
    case answered
    /// The device has got a newer message with the same collapse id or subject, or a newer notice or state.
    case newer
    /// The user has turned this kind off.
    case unwanted
    /// The device is no longer the user's, or takes no messages now; or the Live Activity shows another
    /// session.
    case unregistered
    /// The phone is among the devices under another id too, and that id has the outcome.
    case delivered
    /// The device cannot show the message, which only ended older ones of its series there.
    case unsuitable
    /// The message's filters no longer mean the user or the device.
    case unselected
    /// For a release: none of its messages is left to send.
    case released
    /// For a turn notice or a release: the user's mute or quiet hours have begun, and it is queued again when
    /// they end. Without an outcome: the message waits for their end.
    case held

    // MARK: There is no outcome yet

    /// The delivery's moment has not come.
    case early = "before its time"
    /// A newer push to the same device waits for another attempt.
    case behindNewer = "behind a newer one"
    /// The outcome of a push that is under way decides whether this one is still wanted.
    case behindAnother = "behind another one"

    /// Those of a delivery that ended as `superseded`.
    package static let supersessions = [
        answered, newer, unwanted, unregistered, delivered, unsuitable, unselected, released, held,
    ]
}
