import Documents
import Turnstone
import Unix

/// How many waiting games of a user who leaves a device its icon shows, until another player of the device
/// takes the number over.
package struct HandOver: Document {
    package static var version: Int64 { 1 }

    /// The SHA-256 of the device's token, in hex.
    let token: String
    /// The device's ids, as the user knows it.
    let ids: [String]
    /// How many waiting games of the user the icon shows.
    let shownTurns: Int64
    /// The name of the lock file that is held until the user has lost the device.
    let lock: String
    private var unknown = JSONObject()

    /// - Parameter lock: of the user's document.
    init(of device: Device, showing shownTurns: Int64, lock: LockPlace) {
        token = device.token.documentName.file
        ids = device.ids
        self.shownTurns = shownTurns
        self.lock = Files.name(of: lock.file)
    }

    package init() {
        token = ""
        ids = []
        shownTurns = 0
        lock = ""
    }

    @export(interface)
    package init?(_ members: JSONObject) {
        var members = Members(members)
        guard let token = members.take("token")?.string,
            let shownTurns = members.take("shown_turns")?.count,
            let lock = members.take("lock")?.string
        else { return nil }
        self.token = token
        self.shownTurns = shownTurns
        self.lock = lock
        ids = members.take("ids")?.texts ?? []
        unknown = members.rest
    }

    package var members: JSONObject {
        let members: JSONObject = [
            "token": .string(token), "ids": JSONValue(texts: ids),
            "shown_turns": .integer(shownTurns), "lock": .string(lock),
        ]
        return members.adding(unknown)
    }
}

extension Device {
    /// How many waiting games of its user the icon shows, if another player may have to correct that.
    var turnsToHandOver: Int64? {
        guard let shownTurns, shownTurns > 0, platform.takesSilentPushes else { return nil }
        return shownTurns
    }
}
