import Crypto
import Documents
import Edge
import Profiles
import Store
import Turnstone
import Unix

/// A user's identity: `external_id` is the user's id, and `onesignal_id` is an alias like all others.
///
/// A user who was made without an external id has the onesignal_id as id.
package enum Identity {
    package static let externalID = Alias.externalID
    package static let ownID = Alias.ownID

    /// A new onesignal_id: a random UUID.
    static func newID() throws(Failure) -> String {
        stableUUID("onesignal \(hex(try randomBytes(16)))")
    }

    /// Whether the user was made without an external id.
    static func isAnonymous(_ user: UserID, _ profile: Profile) -> Bool {
        profile.alias(ownID).map { $0.id.utf8.elementsEqual(user.text.utf8) } ?? false
    }

    /// The members that OneSignal calls `identity`.
    package static func shown(_ user: UserID, _ profile: Profile) -> JSONValue {
        var members = JSONObject()
        if !isAnonymous(user, profile) { members.append(externalID, .string(user.text)) }
        for alias in profile.aliases where members[alias.label] == nil {
            members.append(alias.label, .string(alias.id))
        }
        return .object(members)
    }
}

extension State {
    /// Makes a user without an external id.
    func makeAnonymousUser(_ request: Request) throws(Failure) -> UserID {
        let id = try Identity.newID()
        guard let user = UserID(id) else { throw .malformed(UserID.rule) }
        let aliases: JSONValue = [Identity.ownID: .string(id)]
        _ = try change(
            user,
            by: ProfileChange(Fields(["aliases": aliases]), givingReservedAliases: true),
            as: request)
        return user
    }

    /// Gives a user who was made without an external id one that nobody has.
    ///
    /// - Returns: whether it was done.
    func name(_ user: UserID, as external: UserID) throws(Failure) -> Bool {
        do throws(Failure) {
            return try registry.name(user, as: external) { document in
                Identity.isAnonymous(user, document.profile) && !document.isErasing
            }
        } catch {
            guard error.disposition == .refused(.conflict) else { throw error }
            return false
        }
    }

    /// The user with an identity; `nil` if there is none.
    @export(interface)
    package func user(_ label: String, _ id: String) throws(Failure) -> UserID? {
        if label == Identity.externalID {
            guard let user = UserID(id), let document = try users[user].read(),
                !Identity.isAnonymous(user, document.profile)
            else { return nil }
            return user
        }
        guard let alias = Alias(label, id) else { return nil }
        return try aliases.owner(of: alias)
    }
}
