import HTTP2
import JSON
import PushServices
import Turnstone
import Unix

/// APNs' management of an app's broadcast channels, in one of its two environments. Each request has a
/// connection of its own and waits for its answer.
///
/// Apple: *Sending channel management requests to APNs*.
package struct ChannelService {
    private let bundle: String
    private let client: ChannelClient

    /// - Parameter token: returns the provider token that all processes share, as for ``APNsGateway``.
    /// - Throws: a failure if the certificates to trust (`APNS_CA_FILE`) cannot be read, or if the management
    ///   address is not configured.
    package init(
        _ settings: APNsSettings, in environment: APNsEnvironment,
        token: @escaping APNsGateway.TokenSource
    ) throws(Failure) {
        bundle = settings.bundleID
        client = ChannelClient(
            address: try settings.managementAddress(of: environment),
            context: try .client(authorities: settings.authorities), token: token)
    }

    /// Creates a channel.
    ///
    /// If the answer is lost, the channel may exist nevertheless: check with ``list()``.
    package func create(keeping policy: StoragePolicy) throws(Failure) -> ChannelID {
        let request: JSONValue = [
            "message-storage-policy": .integer(policy.number), "push-type": "LiveActivity",
        ]
        let answer = try ask("POST", "channels", body: JSON.text(request))
        guard answer.status == 201 else { throw failure(answer) }
        guard let id = answer.fields["apns-channel-id"].flatMap(ChannelID.init) else {
            throw unusable(answer)
        }
        return id
    }

    package func list() throws(Failure) -> [ChannelID] {
        let answer = try ask("GET", "all-channels")
        guard answer.status == 200 else { throw failure(answer) }
        guard let names = members(answer)?["channels"]?.array else { throw unusable(answer) }
        var channels: [ChannelID] = []
        for name in names {
            guard let id = name.string.flatMap(ChannelID.init) else { throw unusable(answer) }
            channels.append(id)
        }
        return channels
    }

    /// Returns a channel's storage policy as APNs states it.
    package func policy(of id: ChannelID) throws(Failure) -> StoragePolicy {
        let answer = try ask("GET", "channels", of: id)
        guard answer.status == 200 else { throw failure(answer, of: id) }
        let number = members(answer)?["message-storage-policy"]?.integer
        guard let policy = number.flatMap(StoragePolicy.init(number:)) else {
            throw unusable(answer)
        }
        return policy
    }

    package func delete(_ id: ChannelID) throws(Failure) {
        let answer = try ask("DELETE", "channels", of: id)
        guard answer.status == 204 else { throw failure(answer, of: id) }
    }

    // MARK: Requests

    private func ask(
        _ method: String, _ place: String, of id: ChannelID? = nil, body: [UInt8] = []
    ) throws(Failure) -> ClientEvent.Answer {
        var fields: [(String, String)] = []
        if let id { fields.append(("apns-channel-id", id.text)) }
        if !body.isEmpty {
            fields.append(("content-type", "application/json"))
            fields.append(("content-length", String(body.count)))
        }
        return try client.ask(method, "/1/apps/\(bundle)/\(place)", fields, body)
    }

    // MARK: Answers

    /// The failure that an answer without success stands for.
    private func failure(_ answer: ClientEvent.Answer, of id: ChannelID? = nil) -> Failure {
        let reason = reason(answer)
        switch (answer.status, reason) {
        case (_, "BadChannelId"), (_, "ChannelNotRegistered"),
            (404, _) where id != nil:
            return .refused(.notFound, "Channel not found")
        case (_, "CannotCreateChannelConfig"):
            return .refused(
                .conflict, "this app has as many channels as APNs allows: delete one first")
        case (_, "FeatureNotEnabled"), (_, "BroadcastFeatureNotEnabled"):
            return .misconfigured(
                "APNs does not allow \(bundle) (APNS_BUNDLE_ID) to broadcast: enable it for this app at developer.apple.com"
            )
        case (401, _), (403, _), (_, "TopicMismatch"), (_, "TopicDisallowed"):
            return later(reason, .minutes(5))
        case (429, "TooManyProviderTokenUpdates"):
            return later(reason, ProviderToken.renewalPause)
        case (429, _), (500...599, _):
            let seconds = answer.fields["retry-after"].flatMap(Int64.init) ?? 60
            return later(reason, .seconds(min(max(seconds, 1), 86_400)))
        case (400, _): return .malformed("APNs refused the request: \(reason)")
        default: return unusable(answer)
        }
    }

    private func unusable(_ answer: ClientEvent.Answer) -> Failure {
        Failure(
            .badUpstream,
            "unable to manage channels: APNs gave an answer of unknown form (\(reason(answer)))",
            cause: "badUpstream")
    }
}

private func later(_ reason: String, _ pause: Interval) -> Failure {
    let seconds = Int(pause.seconds)
    return Failure(
        .later(seconds: seconds),
        "unable to manage channels: APNs answered \(reason); retry in \(seconds) s", cause: reason)
}

private func members(_ answer: ClientEvent.Answer) -> JSONObject? {
    do throws(JSONError) { return try JSON.parse(answer.body).object } catch { return nil }
}

/// The reason that APNs gives, or else the HTTP status.
func reason(_ answer: ClientEvent.Answer) -> String {
    members(answer)?["reason"]?.string ?? "HTTP \(answer.status)"
}
