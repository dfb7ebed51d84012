import Turnstone

/// A notification that waits to bring a user's badge to the devices. It brings the number that there is when it is sent, so
/// one that waits is enough for any number of changes.
package struct BadgePush: Equatable {
    /// The notification's id.
    package let id: String
    /// Devices that are registered later are not among its own.
    let accepted: Timestamp
    /// The device that it leaves out, which knows the number, by its id.
    let except: String?

    package init(id: String, accepted: Timestamp, except: String?) {
        self.id = id
        self.accepted = accepted
        self.except = except
    }

    init?(_ members: JSONObject) {
        guard let id = members["id"]?.string, let accepted = members["at"]?.timestamp else {
            return nil
        }
        self.init(id: id, accepted: accepted, except: members["except"]?.string)
    }

    var members: JSONObject {
        var members: JSONObject = ["id": .string(id), "at": JSONValue(accepted)]
        members["except"] = except.map { .string($0) }
        return members
    }

    /// Whether it goes to all these devices.
    package func reaches(_ devices: [Device]) -> Bool {
        devices.allSatisfy { $0.id != except && $0.created < accepted }
    }
}
