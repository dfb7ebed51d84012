import Documents
import Turnstone

/// A key by which a device's user can be found.
package enum IndexKey: Equatable {
    case token(DeviceToken)
    case activity(String)
    case session(String)

    /// The document that lists the users.
    func document(in state: State) -> StoredDocument<Holders> {
        switch self {
        case .token(let token): state.tokens[token]
        case .activity(let id): state.activities[id]
        case .session(let id): state.sessions[id]
        }
    }

    var isSession: Bool { if case .session = self { true } else { false } }

    /// Whether it finds the device.
    func finds(_ device: Device) -> Bool {
        switch self {
        case .token(let token): device.token == token
        case .activity(let id): device.activityID.map { isSame($0, id) } ?? false
        case .session(let id): device.sessionID.map { isSame($0, id) } ?? false
        }
    }

    /// All keys that find a device with this token, in the order in which they are locked.
    static func all(_ token: DeviceToken, _ kind: TokenKind) -> [IndexKey] {
        guard case .liveActivity(let activity, let session) = kind else { return [.token(token)] }
        return [.token(token)] + (activity.map { [.activity($0)] } ?? [])
            + (session.map { [.session($0)] } ?? [])
    }
}

/// Whether two of an app's names have the same bytes. The indices' file names are made from the bytes.
func isSame(_ left: String, _ right: String) -> Bool { left.utf8.elementsEqual(right.utf8) }
