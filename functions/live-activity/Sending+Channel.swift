import Documents
import Spool
import Store
import Turnstone

extension Sending {
    /// Updates the activities that listen to a channel. The carrier is in the spool before the channel's
    /// document counts it.
    ///
    /// - Throws: a conflict while an end is being sent, because a later state could replace it.
    func broadcast(to channel: ChannelID) throws(Failure) -> Result {
        let id = try newID(for: nil)
        return try state.channels[channel].update { (document) throws(Failure) in
            guard let policy = document.policy, document.deleted == nil else {
                throw .refused(.notFound, "Channel not found")
            }
            var feed = document.feed ?? ActivityFeed()
            if let end = feed.endCarrier, try spools.contains(end) {
                throw .refused(
                    .conflict,
                    "an end is still on its way to this channel; try again when it has been sent")
            }
            try dropLostCarrier(of: &feed)
            let addition = feed.add(
                call.aps, priority: call.priority, at: call.moment, expires: call.expires,
                now: call.now, id: id, for: .channel, fits: call.fits)
            guard addition != .stateless else { throw stateless("channel") }
            guard addition != .tooLarge else { throw tooLarge }
            guard case .carried(let carrier) = addition else { return .outdated }
            document.feed = feed
            guard carrier.id == id else { return .queued }
            var carrying = notification(id: id, user: nil, call.aps)
            carrying.cargo = .activity
            carrying.push.isKept = policy == .newest
            try spools.accept(
                carrying, to: [Delivery(channel: channel, environment: document.environment)])
            return .queued
        }
    }
}
