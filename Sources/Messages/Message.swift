import Spool
import Turnstone

/// Something that an app's own backend has to say, whoever it is for.
package struct Message: Equatable {
    /// By what users turn kinds of messages on and off, such as `message`.
    package let kind: String
    /// What its devices are asked to show. The badge in it is for a user who had 0 before.
    package let push: PushContent
    /// What it is about: on each device a newer message about the same takes the place of older ones that
    /// have not been delivered. If `nil`, the collapse id decides that.
    package let subject: String?
    /// What happens to each user's badge.
    package let badge: BadgeChange?
    /// Before which nothing goes out; `nil` where it goes at once.
    package let sendAfter: Timestamp?
    /// After this nobody wants it any more.
    package let expires: Timestamp
    /// Whether its sender said when it expires.
    let hasOwnLife: Bool

    /// By what users turn it off; `nil` where they cannot. What shows nothing and is a newer state of
    /// something that may be shown, as what takes a request away, goes out though its kind is switched off.
    var refusableKind: String? {
        push.type == .background && (subject ?? push.collapseID) != nil ? nil : kind
    }

    /// What orders it among the messages that replace each other; `nil` where none does.
    ///
    /// - Parameters:
    ///   - user: the one user whose devices alone get it.
    ///   - accepted: nanoseconds since 1970: of two from the same moment, which was accepted first.
    func series(of user: UserID?, now: Timestamp, accepted: Int64) -> Series? {
        let names = [subject.map { "subject \($0)" }, push.collapseID.map { "collapse \($0)" }]
            .compactMap { $0 }
        guard !names.isEmpty else { return nil }
        // Of a subject, what is scheduled for later is older than what is said now.
        let moment = subject == nil ? sendAfter : nil
        return Series(
            names, of: user, order: Series.Order(from: moment ?? now, accepted: accepted),
            isScheduled: moment != nil)
    }
}
