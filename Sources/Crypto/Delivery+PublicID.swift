import Turnstone

extension Delivery {
    /// Sends it to the token that has replaced the one it was accepted for.
    package mutating func redirect(to token: DeviceToken) {
        deviceID = deviceID ?? self.token?.publicID
        aim = .device(token)
    }

    /// The device as receipts name it; `nil` for a channel.
    package var device: String? { deviceID ?? token?.publicID }
}
