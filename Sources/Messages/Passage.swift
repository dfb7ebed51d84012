import Spool
import Store
import Turnstone

/// The way of a message to each of its users: every message passes here, once for each user, with all that is known
/// of the user.
struct Passage {
    let message: Message
    let now: Timestamp

    /// What the message comes to for a user: a delivery for each device that it is pushed to.
    func deliveries(to user: UserID, _ document: User) -> [Delivery] {
        document.devices.filter { $0.takesMessages }.map { delivery(to: $0, of: user) }
    }

    /// The same for one device that the message is for, whoever else it is for.
    func delivery(to device: Device, of user: UserID) -> Delivery {
        Delivery(
            token: device.token, environment: device.environment, user: user,
            isProven: device.reached != nil)
    }
}
