import Turnstone

extension Delivery {
    /// The same to the token that took the place of the one it was accepted for.
    package mutating func redirect(to token: DeviceToken) {
        deviceID = deviceID ?? self.token?.publicID
        aim = .device(token)
    }

    /// The device as receipts name it; `nil` where it is for a channel.
    package var device: String? { deviceID ?? token?.publicID }
}
