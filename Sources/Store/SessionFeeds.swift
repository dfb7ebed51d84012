import Documents
import Turnstone

/// The states for the listeners of a session: everything that was sent to the session as a whole.
///
/// After an end, other devices may join. They have a feed of their own, whose numbers continue after the
/// end's. A listener gets the states with higher numbers than the newest one at the time it joined.
package struct SessionFeeds: Equatable {
    package private(set) var present: ActivityFeed?
    /// Feeds that have ended, oldest first, each until every listener has got its end.
    package private(set) var ending: [ActivityFeed] = []
    /// The number of the first state for which the current carrier (the notification that carries the waiting
    /// state) was made.
    package private(set) var first: Int64 = 0

    package init() {}

    /// `nil` if they do not have the form that ``put(into:)`` writes.
    init?(_ members: inout Members) {
        if let json = members.take("feed") {
            guard let feed = ActivityFeed(json) else { return nil }
            present = feed
        }
        first = members.take("first")?.count ?? 0
        for json in members.take("ending")?.array ?? [] {
            guard let feed = ActivityFeed(json) else { return nil }
            ending.append(feed)
        }
    }

    func put(into members: inout JSONObject) {
        members["feed"] = present.map { $0.json }
        members["first"] = first == 0 ? nil : .integer(first)
        members["ending"] = ending.isEmpty ? nil : .array(ending.map { $0.json })
    }

    /// The number of the newest state; 0 before the first.
    package var number: Int64 { present?.number ?? 0 }

    /// How many states of the present feed were taken.
    package var turn: Int64 { present?.taken?.turn ?? 0 }

    /// Whether a listener's activity has ended with the session.
    ///
    /// - Parameter joined: the newest state's number when the listener joined.
    package func hasEnded(for joined: Int64) -> Bool { joined < present?.base ?? 0 }

    /// For a listener that leaves: the newest state that was taken, or the end if its activity has ended with
    /// the session; `nil` if none was taken.
    ///
    /// - Parameter joined: the newest state's number when the listener joined.
    func last(for joined: Int64) -> ActivityFeed.Taken? {
        var last = present?.taken
        if hasEnded(for: joined), let feed = ending.first(where: { joined < $0.number }) {
            // If only a later end is known, its own end was sent long ago.
            last = feed.base > joined ? feed.end : feed.taken
        }
        return last.flatMap { $0.state.number > joined ? $0 : nil }
    }

    /// The feed that a listener whose activity has not ended has got or will get; `nil` if there is none.
    ///
    /// - Parameter joined: the newest state's number when the listener joined.
    package func feed(for joined: Int64) -> ActivityFeed? {
        guard let present, present.number > joined, present.known != nil else { return nil }
        return present.adapted(toListenerSince: joined)
    }

    /// The state that a notification has taken, until another one has taken a newer state or is about to. A
    /// listener that has not got the state by then, because its push was put off, gets only the next one. An
    /// alert is still worth a push of its own.
    package func taken(by id: String, now: Timestamp) -> ActivityFeed.Taken? {
        let feeds = [present].compactMap { $0 } + ending
        guard let feed = feeds.first(where: { $0.taken?.carrier == id }), let taken = feed.taken
        else { return nil }
        let isNextDue = feed.carrier.map { $0.id != id && $0.due <= now } ?? false
        return isNextDue && taken.state.aps["alert"] == nil ? nil : taken
    }

    /// Replaces the present feed by one with another state.
    ///
    /// - Parameters:
    ///   - isCarrierNew: whether a notification was made for that state.
    ///   - isOpen: whether a notification is in the spool.
    package mutating func replaceFeed(
        with feed: ActivityFeed, isCarrierNew: Bool,
        isOpen: (String) throws(Failure) -> Bool
    ) throws(Failure) {
        if isCarrierNew { first = feed.number }
        guard feed.known?.isEnd == true else { return present = feed }
        var open: [ActivityFeed] = []
        for feed in ending {
            if let carrier = feed.endCarrier, try isOpen(carrier) { open.append(feed) }
        }
        ending = open + [feed]
        present = ActivityFeed(after: feed.number)
    }

    /// How long the waiting state must wait if a notification carries it: ``ActivityFeed/pause(of:now:)``.
    package func pause(of id: String, now: Timestamp) -> Interval? {
        present?.pause(of: id, now: now)
    }

    /// The state that a notification must send: ``ActivityFeed/take(by:now:besides:turn:)``.
    package mutating func take(by id: String, now: Timestamp) -> ActivityFeed.Taken? {
        if present?.carrier?.id == id { return present?.take(by: id, now: now) }
        for index in ending.indices where ending[index].carrier?.id == id {
            return ending[index].take(by: id, now: now)
        }
        return taken(by: id, now: now)
    }

    /// Records another attempt to send what a notification has taken.
    package mutating func recordAttempt(by id: String, at now: Timestamp) {
        present?.recordAttempt(by: id, at: now)
        for index in ending.indices { ending[index].recordAttempt(by: id, at: now) }
    }
}

extension State {
    /// The feeds of the session that a Live Activity shows; `nil` if it shows none.
    package func session(of device: Device) throws(Failure) -> SessionFeeds? {
        guard let session = device.sessionID else { return nil }
        return try sessions[session].read()?.session
    }
}
