import Edge
import Store
import Turnstone

/// A change of what is known of one device.
struct DeviceChange {
    /// As `/api/devices` shows it.
    let id: String
    private let appVersion: Setting<String>
    private let model: Setting<String>
    private let system: Setting<String>
    private let isEnabled: Setting<Bool>

    /// - Parameter members: the members to change. `null` removes a member; a missing one stays.
    init(_ id: String, _ members: Fields) throws(Failure) {
        self.id = id
        var fields = members
        appVersion = try fields.textSetting("appVersion")
        model = try fields.textSetting("model")
        system = try fields.textSetting("os")
        isEnabled = try fields.booleanSetting("enabled")
        try fields.finish()
    }

    func apply(to devices: inout [Device]) throws(Failure) {
        guard let place = devices.firstIndex(where: { $0.id == id && $0.kind == .device }) else {
            throw .unacceptable("devices.\(id): the user has no such device")
        }
        appVersion.apply(to: &devices[place].appVersion)
        model.apply(to: &devices[place].model)
        system.apply(to: &devices[place].system)
        switch isEnabled {
        case .kept: break
        case .removed: devices[place].isEnabled = true
        case .set(let value): devices[place].isEnabled = value
        }
    }
}
