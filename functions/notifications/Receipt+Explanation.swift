import Spool
import Turnstone

extension Receipt {
    /// The fate of the notification, as a sentence for its user.
    var explanation: String {
        switch outcome {
        case .accepted: "The push service took it."
        case .held: "It waits because of your mute or your quiet hours, and is sent when they end."
        case .superseded: supersession
        case .expired: "It expired before it could be sent."
        case .refused: "The push service refused it\(because)."
        case .gone: "The device no longer takes notifications from this app."
        case .quarantined:
            "The push service does not know the device\(because). Open the app there to register it again."
        case .cancelled: "It was cancelled before it was sent."
        case .damaged: "Its file was damaged on the server. The operator can see that."
        case nil: waiting
        }
    }

    /// Why it was not sent any more.
    private var supersession: String {
        switch reason.flatMap({ Supersession(rawValue: $0) }) {
        case .answered: "The games were answered before it was sent."
        case .newer: "A newer notification replaced it."
        case .unwanted: "You have turned this kind of notification off."
        case .held:
            "Your mute or your quiet hours were on. The next notification has everything that still waits."
        case .unregistered: "The device was removed before it was sent."
        case .delivered: "It is the same device as another one, which shows what became of it."
        case .unsuitable: "This device cannot show it; it only ended what was older."
        case .unselected: "You were no longer among its recipients when it was sent."
        case .released: "Nothing of it was left to send."
        case nil: "It was no longer true or wanted when it was to be sent\(because)."
        }
    }

    private var waiting: String {
        switch (reason, status) {
        case ("held", _): "It waits until your mute or your quiet hours end."
        case (_, let status?):
            "The push service could not take it (\(status)\(reason.map { " \($0)" } ?? "")); it is tried again."
        default: "It is tried again soon\(because)."
        }
    }

    private var because: String { reason.map { " (\($0))" } ?? "" }
}
