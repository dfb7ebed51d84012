import Turnstone

extension Device {
    /// The device as an app may show it, with the members of `/api/devices`. It never contains the token.
    package var listing: JSONValue {
        [
            "id": .string(id), "platform": .string(platform.rawValue),
            "deviceName": name.map { .string($0) } ?? .null,
            "createdAt": .string(CalendarDate(created).millisecondText),
            "updatedAt": .string(CalendarDate(registered).millisecondText),
        ]
    }
}
