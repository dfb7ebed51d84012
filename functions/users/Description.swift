import Store
import Turnstone

let unknown = Failure.refused(.notFound, "nothing is known about this user")

/// The data about a user, without tokens and keys.
func description(of user: UserID, _ document: User, in state: State) -> JSONValue {
    [
        "id": .string(user.text),
        "devices": .array(document.devices.map { description(of: $0) }),
        "preferences": document.preferences.listing, "profile": document.profile.listing,
        "badge": .integer(document.badge),
        "apiKeys": .integer(Int64(state.keys.count(document.keys, of: user))),
    ]
}

private func description(of device: Device) -> JSONValue {
    var members = device.listing.object ?? [:]
    members["tokenType"] = .string(device.kind.name)
    members["appVersion"] = device.appVersion.map { .string($0) }
    members["model"] = device.model.map { .string($0) }
    members["os"] = device.system.map { .string($0) }
    members["enabled"] = device.isEnabled ? nil : false
    members["environment"] = device.environment.map { .string($0.rawValue) }
    members["quarantinedAt"] = device.quarantined.map {
        .string(CalendarDate($0).millisecondText)
    }
    return .object(members)
}
