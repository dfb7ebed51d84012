import Spool
import Turnstone

/// A message from an app's own backend, without its recipients.
package struct Message: Equatable {
    /// The kind by which users turn messages on and off, such as `message`.
    package let kind: String
    /// The push that the devices get. The badge in it is for a user who had 0 before.
    package let push: PushContent
    /// The subject of the message. On each device a newer message replaces older ones with the same subject,
    /// or the same collapse id, that have not been delivered.
    package let subject: String?
    /// The change to each user's badge.
    package let badge: BadgeChange?
    /// The message is not sent before this moment; `nil` to send it at once.
    package let sendAfter: Timestamp?
    /// The same, also if it has passed: the clock may be ahead.
    let notBefore: Timestamp?
    /// How the moment of each user is chosen, not earlier than ``sendAfter``; `nil` if all users have the
    /// same.
    package let delayed: DelayedOption?
    /// How long after a user's own moment it expires; `nil` if ``expires`` says when.
    let life: Interval?
    /// The message is not delivered after this moment.
    package let expires: Timestamp
    /// How many pushes may leave in a minute; `nil` for any number.
    package let throttle: Int64?
    /// Whether the request states when it expires.
    let hasOwnExpiration: Bool

    /// The kind by which users can turn it off; `nil` if they cannot. A background push with a subject or a
    /// collapse id can clear what is shown, such as a request, so it is sent even if its kind is turned off.
    var refusableKind: String? {
        push.type == .background && (subject ?? push.collapseID) != nil ? nil : kind
    }

    /// The order of the message among those that replace each other; `nil` if it replaces none.
    ///
    /// - Parameters:
    ///   - user: the only user whose devices get it; `nil` if others get it too.
    ///   - accepted: ``Spools/nextOrder(at:)``, to order messages of the same moment.
    func series(of user: UserID?, now: Timestamp, accepted: Int64) -> Series? {
        let names = [subject.map { "subject \($0)" }, push.collapseID.map { "collapse \($0)" }]
            .compactMap { $0 }
        guard !names.isEmpty else { return nil }
        // With a subject, a scheduled message counts from its acceptance: a message that is accepted later
        // replaces it.
        let moment = subject == nil ? sendAfter : nil
        return Series(
            names, of: user, order: Series.Order(from: moment ?? now, accepted: accepted),
            isScheduled: moment != nil || delayed != nil)
    }
}
