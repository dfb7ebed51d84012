import Turnstone

/// A queued notification that sends a user's badge to the devices. It sends the number as it is at that
/// moment, so one queued notification covers any number of changes.
package struct BadgePush: Equatable {
    /// The notification's id.
    package let id: String
    /// When it was queued. Devices registered later do not get it.
    let accepted: Timestamp
    /// The id of the device that is left out because it knows the number already.
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

    /// Whether all these devices get it.
    package func reaches(_ devices: [Device]) -> Bool {
        devices.allSatisfy { $0.id != except && $0.created < accepted }
    }
}
