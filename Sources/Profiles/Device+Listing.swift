import Store
import Turnstone

extension Device {
    /// What is known of the device, with the members that `PATCH /api/profile` changes.
    package var profile: JSONValue {
        [
            "id": .string(id), "platform": .string(platform.rawValue),
            "appVersion": appVersion.map { .string($0) } ?? .null,
            "model": model.map { .string($0) } ?? .null,
            "os": system.map { .string($0) } ?? .null, "enabled": .bool(isEnabled),
        ]
    }
}
