import Crypto
import JSON
import Store
import Turnstone

extension User {
    /// The devices as `GET /api/profile` shows them.
    package var profileDevices: [JSONValue] {
        devices.filter { $0.kind == .device }.map { $0.profile }
    }

    /// The version of what `GET /api/profile` shows, which `If-Match` compares: the profile's revision and,
    /// if there are devices, eight hex digits of a hash of them. Other routes than those for profiles change
    /// devices too.
    @export(interface)
    package var profileVersion: String {
        let devices = profileDevices
        guard !devices.isEmpty else { return "\(profile.revision)" }
        let hash = SHA256.hash(JSON.text(.array(devices)))
        return "\(profile.revision)-\(hex(hash.prefix(4)))"
    }
}
