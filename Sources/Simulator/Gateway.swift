import HTTP2
import HTTP2Server
import JSON
import Turnstone

/// The stand-in for APNs.
final class Gateway {
    typealias Link = ConnectionFaults.Link

    /// The state of a device token that is not good.
    enum DeviceState {
        case bad
        case gone(reason: String, since: Timestamp)
        /// It belongs to another app.
        case topic(String)
    }

    let bundle: String
    let isDevelopment: Bool
    var tokens = ProviderTokens()
    var devices: [String: DeviceState] = [:]
    var channels = ChannelBook()
    var faults: [GatewayFault] = []
    var connections = ConnectionFaults()
    /// Planned changes of the number of streams, each with the number of requests after which it happens.
    var streamPlans: [(after: Int, streams: Int)] = []
    /// The answer to every push, given before its body has arrived.
    var early: PushRefusal?
    var journal = PushJournal()
    var streams: Int
    /// Called for each accepted push.
    var onPush: ((PushJournal.Entry) -> Void)?
    var requests: Int { connections.requests }
    private var lastPayload: (bytes: [UInt8], kind: PushKind, value: JSONValue)?

    init(bundle: String, isDevelopment: Bool, streams: Int) {
        self.bundle = bundle
        self.isDevelopment = isDevelopment
        self.streams = streams
    }

    func react(
        to request: ServerRequest, on connection: ServerConnection, now: Timestamp
    ) -> Reaction? {
        guard connections.admit(request, on: connection) else { return nil }
        var link = connections.links[connection.number] ?? Link()
        defer { connections.links[connection.number] = link }
        return judge(request, on: connection.number, &link, now)
    }

    /// Announces more streams when the first valid request has been answered, however late that is.
    func didAnswer(on connection: ServerConnection) {
        guard let link = connections.links[connection.number], link.earnsTrust, !link.isTrusted
        else {
            return
        }
        connections.links[connection.number]?.isTrusted = true
        connection.allow(streams: streams)
    }

    /// Announces the number of streams to a connection whose first request was valid.
    func announceStreams(to connection: ServerConnection) {
        if connections.links[connection.number]?.isTrusted == true {
            connection.allow(streams: streams)
        }
    }

    // MARK: One push

    private func judge(
        _ request: ServerRequest, on connection: Int, _ link: inout Link, _ now: Timestamp
    ) -> Reaction {
        let isBroadcast = request.fields[":path"]?.hasPrefix("/4/") == true
        let idField = isBroadcast ? "apns-request-id" : "apns-id"
        let id = request.fields[idField] ?? madeID(requests)
        var target = PushJournal.Entry.Target.device("")
        var payload: JSONValue?
        var fault: GatewayFault?
        var refusal: PushRefusal?
        do throws(PushRefusal) {
            if !request.isComplete { throw early ?? PushRefusal(503, "ServiceUnavailable") }
            if isBroadcast {
                let push = try BroadcastCheck(request.fields, bundle: bundle)
                target = .channel(push.channel)
                try checkKey(request, &link, now)
                try channels.check(push, now: now)
                payload = try read(request, .broadcast)
                try BroadcastCheck.check(payload)
            } else {
                let push = try PushCheck(request.fields, bundle: bundle)
                target = .device(push.device)
                try checkSender(request, push, &link, now)
                try checkDevice(push)
                payload = try read(request, push.kind)
            }
            fault = faults.strike(target.text)
            if case .refuse(let refusal) = fault?.effect { throw refusal }
        } catch { refusal = error }

        let isAccepted = refusal == nil && (fault?.doesAccept ?? true)
        if isAccepted { journal.accept(id) }
        let answers = fault?.answers ?? true
        if answers, refusal == nil || refusal?.status == 410 { link.earnsTrust = true }
        let status = refusal?.status ?? (answers ? 200 : 0)
        journal.count(refusal?.reason ?? (status == 0 ? "no answer" : "accepted"))
        let entry = {
            PushJournal.Entry(
                time: now, connection: connection, id: id, target: target,
                fields: request.fields.all, payload: payload, status: status,
                reason: refusal.map {
                    $0.detail.isEmpty ? $0.reason : "\($0.reason): \($0.detail)"
                },
                isAccepted: isAccepted)
        }
        journal.append(entry())
        if isAccepted, let onPush { onPush(entry()) }
        return reaction((idField, id), refusal, fault)
    }

    private func checkSender(
        _ request: ServerRequest, _ push: PushCheck, _ link: inout Link, _ now: Timestamp
    ) throws(PushRefusal) {
        try checkKey(request, &link, now)
        guard push.topic == bundle + push.kind.suffix else {
            throw PushRefusal(400, "TopicDisallowed", "the topic belongs to another team")
        }
    }

    private func checkKey(
        _ request: ServerRequest, _ link: inout Link, _ now: Timestamp
    ) throws(PushRefusal) {
        let key = try tokens.check(request.fields["authorization"], now: now)
        if let first = link.key, first != key {
            throw PushRefusal(403, "UnrelatedKeyIdInToken", "the connection began with another key")
        }
        link.key = key
    }

    private func checkDevice(_ push: PushCheck) throws(PushRefusal) {
        switch devices[push.device] {
        case nil: break
        case .bad: throw PushRefusal(400, "BadDeviceToken", "marked so")
        case .gone(let reason, let since): throw PushRefusal(410, reason, "marked so", since: since)
        case .topic(let topic):
            guard topic == bundle else {
                throw PushRefusal(400, "DeviceTokenNotForTopic", "it belongs to another app")
            }
        }
    }

    /// Parses the payload. The last one is cached, because a notification has the same payload for every
    /// device.
    private func read(
        _ request: ServerRequest, _ kind: PushKind
    ) throws(PushRefusal) -> JSONValue {
        if let lastPayload, lastPayload.kind.name == kind.name,
            lastPayload.kind.payloadLimit == kind.payloadLimit, lastPayload.bytes == request.body
        {
            return lastPayload.value
        }
        let value = try PayloadCheck.check(request.body, length: request.bodyLength, kind)
        lastPayload = (request.body, kind, value)
        return value
    }

    private func reaction(
        _ id: (name: String, text: String), _ refusal: PushRefusal?, _ fault: GatewayFault?
    ) -> Reaction {
        let delay = fault?.delay ?? .seconds(0)
        switch fault?.effect {
        case .stall: return .stall
        case .drop(let resetting): return .drop(after: delay, resetting: resetting)
        case .reset(let code): return .reset(code: code, after: delay)
        case .refuse, .delay, nil: break
        }
        var fields = HeaderFields()
        fields.append(":status", String(refusal?.status ?? 200))
        fields.append(id.name, id.text, indexed: false)
        guard let refusal else {
            if isDevelopment { fields.append("apns-unique-id", madeID(requests), indexed: false) }
            return .answer(ServerAnswer(fields), after: delay)
        }
        fields.append("content-type", "application/json")
        if let moment = refusal.retryAfter { fields.append("retry-after", moment) }
        return .answer(ServerAnswer(fields, body: refusal.body), after: delay)
    }

    // MARK: All of it

    func reset() {
        tokens.reset()
        devices = [:]
        channels = ChannelBook()
        clearFaults()
        let isQuiet = journal.isQuiet
        journal = PushJournal()
        journal.isQuiet = isQuiet
        connections.forgetRequests()
    }

    func clearFaults() {
        faults = []
        channels.clearFaults()
        connections.clear()
        early = nil
        streamPlans = []
    }
}

extension GatewayFault {
    var doesAccept: Bool {
        switch effect {
        case .delay: true
        case .refuse: false
        case .stall, .reset, .drop: isAccepted
        }
    }

    var answers: Bool {
        switch effect {
        case .refuse, .delay: true
        case .stall, .reset, .drop: false
        }
    }
}

/// Makes an id in the form of a UUID for requests without one.
private func madeID(_ number: Int) -> String {
    let digits = String(number, radix: 16)
    return "00000000-0000-4000-8000-" + String(repeating: "0", count: 12 - digits.count) + digits
}
