import Documents
import Turnstone

extension Registry {
    /// Takes the devices that are no longer the user's out of a document that may be a copy of any age. Each
    /// device's index decides: it names a user before the user's document has the device, and as long as it has.
    /// If the index may be a copy itself, or is damaged, the device stays.
    func withoutLostDevices(_ document: User, of user: UserID) throws(Failure) -> User {
        var document = document
        var kept: [Device] = []
        for device in document.devices where try !isLost(device.token, of: user) {
            kept.append(device)
        }
        document.devices = kept
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
