import Store
import Turnstone

/// The users who may get a message: a list, or all who have a document.
enum UserSource {
    case listed(ArraySlice<UserID>)
    case all(UserList)

    mutating func next() throws(Failure) -> UserID? {
        switch self {
        case .listed(var users):
            let user = users.popFirst()
            self = .listed(users)
            return user
        case .all(var list):
            let user = try list.next()
            self = .all(list)
            return user
        }
    }
}
