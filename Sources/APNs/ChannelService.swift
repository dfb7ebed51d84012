import HTTP2
import JSON
import PushServices
import Turnstone
import Unix

/// APNs' management of an app's broadcast channels, in one of its two environments: each question has a connection of
/// its own, and waits for its answer.
///
/// Apple: *Sending channel management requests to APNs*.
package struct ChannelService {
    private let bundle: String
    private let line: ChannelLine

    /// - Parameter token: gives the provider token that all processes share, as for ``APNsGateway``.
    /// - Throws: where the certificates that should be trusted cannot be read, or nobody says where to ask.
    package init(
        _ settings: APNsSettings, in environment: APNsEnvironment,
        token: @escaping APNsGateway.TokenSource
    ) throws(Failure) {
        bundle = settings.bundleID
        line = ChannelLine(
            address: try settings.managementAddress(of: environment),
            context: try .client(authorities: settings.authorities), token: token)
    }

    /// Makes a channel.
    ///
    /// Where the answer is lost it may have been made: ``list()`` tells.
    package func create(keeping policy: StoragePolicy) throws(Failure) -> ChannelID {
        let wish: JSONValue = [
            "message-storage-policy": .integer(policy.number), "push-type": "LiveActivity",
        ]
        let answer = try ask("POST", "channels", body: JSON.text(wish))
        guard answer.status == 201 else { throw failure(answer) }
        guard let id = answer.fields["apns-channel-id"].flatMap(ChannelID.init) else {
            throw nonsense
        }
        return id
    }

    package func list() throws(Failure) -> [ChannelID] {
        let answer = try ask("GET", "all-channels")
        guard answer.status == 200 else { throw failure(answer) }
        guard let names = members(answer)?["channels"]?.array else { throw nonsense }
        var channels: [ChannelID] = []
        for name in names {
            guard let id = name.string.flatMap(ChannelID.init) else { throw nonsense }
            channels.append(id)
        }
        return channels
    }

    /// What APNs keeps for a channel.
    package func policy(of id: ChannelID) throws(Failure) -> StoragePolicy {
        let answer = try ask("GET", "channels", of: id)
        guard answer.status == 200 else { throw failure(answer, of: id) }
        let number = members(answer)?["message-storage-policy"]?.integer
        guard let policy = number.flatMap(StoragePolicy.init(number:)) else { throw nonsense }
        return policy
    }

    package func delete(_ id: ChannelID) throws(Failure) {
        let answer = try ask("DELETE", "channels", of: id)
        guard answer.status == 204 else { throw failure(answer, of: id) }
    }

    // MARK: Questions

    private func ask(
        _ method: String, _ place: String, of id: ChannelID? = nil, body: [UInt8] = []
    ) throws(Failure) -> ClientEvent.Answer {
        var fields: [(String, String)] = []
        if let id { fields.append(("apns-channel-id", id.text)) }
        if !body.isEmpty {
            fields.append(("content-type", "application/json"))
            fields.append(("content-length", String(body.count)))
        }
        return try line.ask(method, "/1/apps/\(bundle)/\(place)", fields, body)
    }

    // MARK: Answers

    /// What an answer without success means to whoever asked.
    private func failure(_ answer: ClientEvent.Answer, of id: ChannelID? = nil) -> Failure {
        let reason = reason(answer)
        switch (answer.status, reason) {
        case (_, "BadChannelId"), (_, "ChannelNotRegistered"),
            (404, _) where id != nil:
            return .refused(.notFound, "Channel not found")
        case (_, "CannotCreateChannelConfig"):
            return .refused(.conflict, "APNs takes no more channels: delete some")
        case (_, "FeatureNotEnabled"), (_, "BroadcastFeatureNotEnabled"):
            return .misconfigured(
                "APNs has no broadcasts for \(bundle) (APNS_BUNDLE_ID): enable them for the app")
        case (401, _), (403, _), (_, "TopicMismatch"), (_, "TopicDisallowed"):
            return later(reason, .minutes(5))
        case (429, "TooManyProviderTokenUpdates"): return later(reason, .minutes(20))
        case (429, _), (500...599, _):
            let seconds = answer.fields["retry-after"].flatMap(Int64.init) ?? 60
            return later(reason, .seconds(min(max(seconds, 1), 86_400)))
        case (400, _): return .malformed("APNs refuses it: \(reason)")
        default: return nonsense
        }
    }

    private var nonsense: Failure {
        Failure(.badUpstream, "unable to read what APNs says of channels", cause: "nonsense")
    }
}

private func later(_ reason: String, _ pause: Interval) -> Failure {
    Failure(
        .later(seconds: Int(pause.milliseconds / 1000)),
        "unable to manage channels: APNs says \(reason)", cause: reason)
}

private func members(_ answer: ClientEvent.Answer) -> JSONObject? {
    do throws(JSONError) { return try JSON.parse(answer.body).object } catch { return nil }
}

/// APNs' own word, where it says one.
func reason(_ answer: ClientEvent.Answer) -> String {
    members(answer)?["reason"]?.string ?? "HTTP \(answer.status)"
}
