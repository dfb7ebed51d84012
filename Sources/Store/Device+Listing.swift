import Turnstone

extension Device {
    /// What an app may show of it, with the members of `/api/devices`: never its token.
    package var listing: JSONValue {
        [
            "id": .string(id), "platform": .string(platform.rawValue),
            "deviceName": name.map { .string($0) } ?? .null,
            "createdAt": .string(CalendarDate(created).millisecondText),
            "updatedAt": .string(CalendarDate(registered).millisecondText),
        ]
    }
}
