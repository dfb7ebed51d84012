import Audiences
import Spool
import Store
import Turnstone

/// Checks, when a message is sent, whether it is still meant for a device.
package final class SelectionCheck {
    /// The last message's selection: many pushes in a row need it.
    private var last: (id: String, selection: Selection)?

    package init() {}

    /// - Throws: broken if a newer program wrote the message's filters.
    @export(interface)
    package func admits(
        _ notification: Notification, _ document: User, _ device: Device, at now: Timestamp
    ) throws(Failure) -> Bool {
        guard let json = notification.audience else { return true }
        if last?.id != notification.id {
            do throws(Failure) { last = (notification.id, try Selection(json)) } catch {
                throw Failure(
                    .broken, "unable to read a message's filters: \(error.sentence)",
                    cause: FailureCause.newer)
            }
        }
        return last?.selection.admits(Facts(document, device), at: now) ?? true
    }
}
