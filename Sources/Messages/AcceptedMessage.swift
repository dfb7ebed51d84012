import Audiences
import Documents
import Store
import Turnstone
import Unix

/// A message that is being accepted. It makes the deliveries for each of its users.
///
/// Quiet hours and the badge may change before the message is sent, so they are applied then.
struct AcceptedMessage {
    let message: Message
    /// The users that it may go to.
    let selection: Selection
    let now: Timestamp
    /// The push services that this installation can reach.
    let services: PushServiceSet
    /// Whether it may replace messages that wait for browsers, though browsers cannot show it. They get a
    /// delivery that is never sent and ends the older ones.
    let endsOlderInBrowsers: Bool

    /// The deliveries to a user's devices, or to one of them.
    ///
    /// - Parameter stamp: the document's stamp, taken before the document was read.
    /// - Returns: nothing if the user does not want this kind of message.
    func deliveries(
        to user: UserID, _ document: User, stamp: Int64?, only device: Device? = nil
    ) -> [Delivery] {
        let devices = document.devices.filter {
            takes($0) && (device == nil || $0.token == device?.token)
                && isSelected($0, of: document)
        }
        guard !devices.isEmpty else { return [] }
        if isRefused(by: document) { return [] }
        // Deliveries without a stamp are decided again when they are sent: quiet hours begin without a change
        // of the document, and the document has the user's language.
        let mayKeepStamp =
            message.badge == nil && !selection.dependsOnTime
            && message.push.translations.isEmpty && message.delayed == nil
        return devices.map { device in
            var delivery = device.delivery(of: user)
            let keepsStamp = mayKeepStamp && isFree(on: device.platform.service, document)
            delivery.stamp = keepsStamp ? stamp : nil
            return delivery
        }
    }

    /// Whether nothing but a change of the user's preferences can hold the message on a service's devices.
    private func isFree(on service: PushService, _ document: User) -> Bool {
        let isExempt = message.push.isExempt(on: service)
        return (isExempt || document.preferences.quietHours == nil)
            && document.preferences.passage(
                message.refusableKind, isExempt: isExempt, at: message.sendAfter ?? now,
                WallClock.minute) == .free
    }

    /// Whether a user does not want this kind of message. One that is sent later is decided then.
    func isRefused(by document: User) -> Bool {
        guard message.sendAfter == nil, message.delayed == nil else { return false }
        return document.preferences.passage(message.refusableKind, at: now, WallClock.minute)
            == .closed
    }

    /// Whether a device gets a delivery.
    func takes(_ device: Device) -> Bool {
        device.takesMessages(by: services) && concerns(device.platform.service)
    }

    /// Whether a service's devices can do anything with it, or it ends older messages for them.
    func concerns(_ service: PushService) -> Bool {
        message.push.suits(service) || service == .web && endsOlderInBrowsers
    }

    /// Those of a user's devices that the message may go to, by the audience index. Nothing else is known
    /// now: the user's document decides when the message is sent.
    func selected(_ user: IndexedUser, _ devices: [Device]) -> [Device] {
        selection.isOpen
            ? devices
            : devices.filter { selection.admits(Facts(user.profile, $0), at: now) }
    }

    private func isSelected(_ device: Device, of document: User) -> Bool {
        selection.isOpen || selection.admits(Facts(document, device), at: now)
    }

    /// The user's devices that do not get the message because this installation does not reach their push
    /// service, or because the message has nothing for it.
    func skipped(of document: User, only token: DeviceToken? = nil) -> [Device] {
        let devices = document.devices.filter {
            isSkipped($0) && (token == nil || $0.token == token) && isSelected($0, of: document)
        }
        return devices.isEmpty || isRefused(by: document) ? [] : devices
    }

    func isSkipped(_ device: Device) -> Bool {
        device.isSkipped(by: services)
            || device.takesMessages(by: services) && !concerns(device.platform.service)
    }
}
