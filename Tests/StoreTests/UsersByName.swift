import Store
import Turnstone

extension Registry {
    func users(ofActivity id: String) throws -> [UserID] { try devices(ofActivity: id).map(\.user) }

    func users(ofSession id: String) throws -> [UserID] { try devices(ofSession: id).map(\.user) }
}
