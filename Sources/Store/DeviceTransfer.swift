import Documents
import Turnstone

/// A transfer of a device to another user, as long as it is not finished. It keeps the device while no user
/// has it. If the program is killed, the next one finishes the transfer.
package struct DeviceTransfer: Document {
    package static var version: Int64 { 2 }
    /// As of ``User``: programs that know no browsers must not touch one.
    package var format: Int64 { device?.platform == .web ? 2 : 1 }

    /// The device as its previous user had it.
    let device: Device?
    /// The user who gets it.
    let user: UserID?
    /// When the transfer began.
    let time: Timestamp
    private var unknown = JSONObject()

    init(of device: Device, to user: UserID, at time: Timestamp) {
        self.device = device
        self.user = user
        self.time = time
    }

    package init() {
        device = nil
        user = nil
        time = Timestamp(milliseconds: 0)
    }

    @export(interface)
    package init?(_ members: JSONObject) {
        var members = Members(members)
        guard let device = members.take("device")?.object.flatMap(Device.init),
            let user = members.take("to")?.string.flatMap({ UserID($0) }),
            let time = members.take("at")?.timestamp
        else { return nil }
        self.device = device
        self.user = user
        self.time = time
        unknown = members.rest
    }

    package var members: JSONObject {
        var members = JSONObject()
        members["to"] = user.map { .string($0.text) }
        members["at"] = JSONValue(time)
        members["device"] = device.map { .object($0.members) }
        return members.adding(unknown)
    }
}
