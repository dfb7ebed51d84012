import Documents
import Turnstone

extension Registry {
    /// Takes the devices that are no longer the user's out of a document that may be a copy of any age. Each
    /// device's index decides: it names a user before the user's document has the device, and until it has not.
    /// If the index may be a copy itself, or cannot be used, the device stays.
    func withoutLostDevices(_ document: User, of user: UserID) throws(Failure) -> User {
        var document = document
        for device in document.devices where try isLost(device.token, of: user) {
            document.devices.removeAll { $0.token == device.token }
        }
        return document
    }

    private func isLost(_ token: DeviceToken, of user: UserID) throws(Failure) -> Bool {
        do throws(Failure) {
            guard let holders = try state.tokens[token].readIfNumbered() else { return false }
            return !holders.users.contains(user)
        } catch {
            guard error.isDocumentSpecific else { throw error }
            error.recordFile()
            return false
        }
    }
}
