import Turnstone

/// By what a device's user can be found.
package enum IndexKey: Equatable {
    case token(DeviceToken)
    case activity(String)
    case session(String)

    func shelf(_ state: State) -> Shelf<Holders> {
        switch self {
        case .token: state.tokens
        case .activity: state.activities
        case .session: state.sessions
        }
    }

    var isSession: Bool { if case .session = self { true } else { false } }

    /// The document of a session that the app calls so.
    package static func session(named id: String) -> DocumentName { IndexKey.session(id).name }

    var name: DocumentName {
        switch self {
        case .token(let token): DocumentName(token)
        case .activity(let id), .session(let id): DocumentName(hashOf: id)
        }
    }

    /// Whether it leads to the device.
    func finds(_ device: Device) -> Bool {
        switch self {
        case .token(let token): device.token == token
        case .activity(let id): device.activityID.map { isSame($0, id) } ?? false
        case .session(let id): device.sessionID.map { isSame($0, id) } ?? false
        }
    }

    /// All that lead to a device with this token, in the order in which they are locked.
    static func all(_ token: DeviceToken, _ kind: TokenKind) -> [IndexKey] {
        guard case .liveActivity(let activity, let session) = kind else { return [.token(token)] }
        return [.token(token)] + (activity.map { [.activity($0)] } ?? [])
            + (session.map { [.session($0)] } ?? [])
    }
}

/// Whether two of an app's names have the same bytes, of which the indices' names are made.
func isSame(_ left: String, _ right: String) -> Bool { left.utf8.elementsEqual(right.utf8) }
