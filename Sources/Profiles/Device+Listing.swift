import Store
import Turnstone

extension Device {
    /// The device's properties, with the members that `PATCH /api/profile` changes.
    package var profile: JSONValue {
        [
            "id": .string(id), "platform": .string(platform.rawValue),
            "appVersion": appVersion.map { .string($0) } ?? .null,
            "model": model.map { .string($0) } ?? .null,
            "os": system.map { .string($0) } ?? .null, "enabled": .bool(isEnabled),
        ]
    }
}
