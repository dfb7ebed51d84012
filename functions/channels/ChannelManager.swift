import APNs
import Credentials
import Documents
import Edge
import PushServices
import Queueing
import Spool
import Store
import Turnstone

/// Manages the channels of one environment at APNs, and keeps in the state folder what sending needs to know
/// about each. If no push service is configured, channels exist in the state folder only.
struct ChannelManager {
    let environment: APNsEnvironment
    private let state: State
    private let service: ChannelService?
    private let now: Timestamp

    /// - Parameter environment: `nil` stands for the configured one.
    init(_ request: Request, in environment: APNsEnvironment?) throws(Failure) {
        try self.init(request, State(request.variables), environment)
    }

    /// For one channel: in the environment that the caller names, or else in the one where it was made, if
    /// that is known.
    init(_ request: Request, of id: ChannelID) throws(Failure) {
        let state = try State(request.variables)
        let named = try request.environment()
        let known = try state.channels[id].read()?.environment
        try self.init(request, state, named ?? known)
    }

    private init(
        _ request: Request, _ state: State, _ environment: APNsEnvironment?
    ) throws(Failure) {
        let now = request.time
        let settings = try APNsSettings(request.variables)
        let configured = try APNsSettings.environment(request.variables)
        let environment = environment ?? configured
        self.environment = environment
        self.state = state
        self.now = now
        guard let settings else {
            service = nil
            return
        }
        service = try ChannelService(settings, in: environment) { (rejected) throws(Failure) in
            try state.providerToken(settings, rejected: rejected, now: now)
        }
    }

    func create(keeping policy: StoragePolicy) throws(Failure) -> ChannelID {
        let made = try service?.create(keeping: policy)
        let id: ChannelID
        if let made { id = made } else { id = try .random() }
        do throws(Failure) {
            try state.channels.record(id, keeping: policy, in: environment)
        } catch {
            // Delete the unrecorded channel: it would count against APNs' limit.
            do throws(Failure) { try service?.delete(id) } catch {}
            throw error
        }
        return id
    }

    func list() throws(Failure) -> [ChannelID] {
        if let service { return try service.list() }
        var known: [ChannelID] = []
        try state.channels.forEachName(unlisted: { Log().failure($0) }) { (name) throws(Failure) in
            guard let channel = try state.channels[named: DocumentName(hash: name)].read(),
                channel.deleted == nil, channel.environment == environment, let id = channel.id
            else { return }
            known.append(id)
        }
        return known.sorted { $0.text < $1.text }
    }

    /// Returns a channel's policy as APNs states it, and records it, so that updates can be sent to a channel
    /// that was made elsewhere.
    func policy(of id: ChannelID) throws(Failure) -> StoragePolicy {
        guard let service else {
            let known = try state.channels[id].read()
            guard let policy = known?.policy, known?.deleted == nil else { throw notFound }
            return policy
        }
        let policy = try service.policy(of: id)
        try state.channels.record(id, keeping: policy, in: environment)
        return policy
    }

    /// Deletes a channel to which no update is on its way. It takes no updates from the moment before APNs is
    /// asked.
    func delete(_ id: ChannelID) throws(Failure) {
        let wasThere = try markDeleted(id)
        guard let service else {
            guard wasThere else { throw notFound }
            return
        }
        do throws(Failure) { try service.delete(id) } catch {
            if wasThere, error.disposition != notFound.disposition {
                try state.channels[id].update { $0.deleted = nil }
            }
            throw error
        }
    }

    /// - Returns: whether the channel was known and not deleted.
    private func markDeleted(_ id: ChannelID) throws(Failure) -> Bool {
        let spools = state.spools
        return try state.channels[id].update { (channel) throws(Failure) in
            guard channel.policy != nil, channel.deleted == nil else { return false }
            for carrier in channel.feed?.carriers ?? [] where try spools.contains(carrier) {
                throw .refused(.conflict, "an update is still on its way to this channel")
            }
            channel.deleted = now
            return true
        }
    }

    func answer(_ status: Int, _ id: ChannelID, _ policy: StoragePolicy) -> Response {
        Response(
            status: status,
            body: [
                "success": true, "id": .string(id.text),
                "messageStoragePolicy": .string(policy.rawValue),
                "environment": .string(environment.rawValue),
            ])
    }

    private var notFound: Failure { .refused(.notFound, "Channel not found") }
}
