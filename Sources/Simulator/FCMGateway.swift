import HTTP2
import HTTP2Server
import JSON
import Turnstone

/// The stand-in for FCM and for Google's token server, which share a port.
final class FCMGateway {
    /// The state of a device token that is not good.
    enum DeviceState: String {
        case gone
        case otherProject = "other-project"
        case bad
    }

    let project: String
    let address: String
    /// The index of its port among the server's.
    let listener: Int
    var oauth: AccessTokenBook
    var devices: [String: DeviceState] = [:]
    var faults: [GatewayFault] = []
    /// Faults of the token server.
    var oauthFaults: [GatewayFault] = []
    var connections = ConnectionFaults()
    var journal = PushJournal()
    /// Whether answers come in gzip.
    var isZipping = false
    var requests: Int { connections.requests }

    init(
        project: String, account: AccessTokenBook.Account, address: String, listener: Int
    ) {
        self.project = project
        self.address = address
        self.listener = listener
        oauth = AccessTokenBook(account: account)
    }

    func react(
        to request: ServerRequest, on connection: ServerConnection, now: Timestamp
    ) -> Reaction? {
        if request.fields[":path"] == AccessTokenBook.path { return giveToken(request, now) }
        guard connections.admit(request, on: connection) else { return nil }
        return judge(request, on: connection.number, now)
    }

    private func giveToken(_ request: ServerRequest, _ now: Timestamp) -> Reaction {
        oauth.requests += 1
        let fault = oauthFaults.strike("")
        guard case .refuse(let refusal) = fault?.effect else {
            let answer = oauth.answer(request, now: now)
            return reaction(answer, fault)
        }
        var refused = AccessTokenBook.Refusal(refusal.reason, "as told")
        refused.status = refusal.status
        return reaction(oauth.refuse(refused, retryAfter: refusal.retryAfter), fault)
    }

    // MARK: One message

    private func judge(
        _ request: ServerRequest, on connection: Int, _ now: Timestamp
    ) -> Reaction {
        var message: FCMMessageCheck.Message?
        var fault: GatewayFault?
        var refusal: FCMRefusal?
        do throws(FCMRefusal) {
            try checkFields(request, now)
            let checked = try FCMMessageCheck.check(request.body, length: request.bodyLength)
            message = checked
            try checkDevice(checked.token)
            fault = faults.strike(checked.token)
            if case .refuse(let told) = fault?.effect { throw FCMRefusal(told) }
        } catch { refusal = error }

        let isAccepted =
            refusal == nil && (fault?.doesAccept ?? true) && message?.isOnlyValidated != true
        let id = message.map { identity($0) } ?? ""
        if isAccepted { journal.accept(id) }
        let status = refusal?.status ?? (fault?.answers ?? true ? 200 : 0)
        journal.count(refusal?.reason ?? (status == 0 ? "no answer" : "accepted"))
        let name = "projects/\(project)/messages/\(requests)"
        journal.append(
            PushJournal.Entry(
                service: "fcm", time: now, connection: connection, id: name,
                target: .device(message?.token ?? ""), fields: request.fields.all,
                payload: message.map { .object($0.members) }, status: status,
                reason: refusal.map {
                    $0.detail.isEmpty ? $0.reason : "\($0.reason): \($0.detail)"
                },
                isAccepted: isAccepted))
        return reaction(answer(refusal, name), fault)
    }

    /// The part that a repetition has in common with the first message: the device and the tag.
    private func identity(_ message: FCMMessageCheck.Message) -> String {
        let android = message.members["android"]?.object ?? [:]
        let tag = android["notification"]?.object?["tag"]?.string
        return "\(message.token) \(tag ?? android["collapse_key"]?.string ?? "\(requests)")"
    }

    private func checkFields(_ request: ServerRequest, _ now: Timestamp) throws(FCMRefusal) {
        let path = request.fields[":path"] ?? ""
        guard path.hasPrefix("/v1/projects/"), path.hasSuffix("/messages:send") else {
            throw FCMRefusal(404, nil, "the path is not /v1/projects/PROJECT/messages:send")
        }
        guard request.fields[":method"] == "POST" else {
            throw FCMRefusal(404, nil, "the method is not POST")
        }
        try oauth.check(request.fields["authorization"], now: now)
        guard path == "/v1/projects/\(project)/messages:send" else {
            throw FCMRefusal(403, nil, "the account has no right to this project")
        }
        guard request.fields["content-type"]?.hasPrefix("application/json") == true else {
            throw FCMRefusal(400, "INVALID_ARGUMENT", "content-type is not application/json")
        }
        guard request.fields["content-encoding"] == nil else {
            throw FCMRefusal(400, "INVALID_ARGUMENT", "the body is encoded")
        }
    }

    private func checkDevice(_ token: String) throws(FCMRefusal) {
        switch devices[token] {
        case nil: break
        case .gone: throw FCMRefusal(404, "UNREGISTERED", "marked so")
        case .otherProject: throw FCMRefusal(403, "SENDER_ID_MISMATCH", "marked so")
        case .bad: throw .invalid("message.token", "is not a valid FCM registration token")
        }
    }

    private func answer(_ refusal: FCMRefusal?, _ name: String) -> ServerAnswer {
        var fields = [("content-type", "application/json; charset=UTF-8")]
        guard let refusal else {
            return ServerAnswer(
                status: 200, fields, body: JSON.text(["name": .string(name)]))
        }
        if let moment = refusal.retryAfter { fields.append(("retry-after", moment)) }
        return ServerAnswer(status: refusal.status, fields, body: refusal.body)
    }

    private func reaction(_ answer: ServerAnswer, _ fault: GatewayFault?) -> Reaction {
        let delay = fault?.delay ?? .seconds(0)
        var answer = answer
        if isZipping {
            answer.fields.append("content-encoding", "gzip")
            answer.body = zipped(answer.body)
        }
        return switch fault?.effect {
        case .stall: .stall
        case .drop(let resetting): .drop(after: delay, resetting: resetting)
        case .reset(let code): .reset(code: code, after: delay)
        case .refuse, .delay, nil: .answer(answer, after: delay)
        }
    }

    // MARK: All of it

    func reset() {
        oauth.reset()
        devices = [:]
        clearFaults()
        let isQuiet = journal.isQuiet
        journal = PushJournal()
        journal.isQuiet = isQuiet
        connections.forgetRequests()
    }

    func clearFaults() {
        faults = []
        oauthFaults = []
        connections.clear()
    }
}

extension FCMRefusal {
    /// The refusal that a command asks for. The reason is FCM's own error code; a plain name of a status,
    /// such as `NOT_FOUND`, or an `ErrorInfo`'s reason stands without one.
    init(_ told: PushRefusal) {
        let codes = [
            "INVALID_ARGUMENT", "UNREGISTERED", "SENDER_ID_MISMATCH", "THIRD_PARTY_AUTH_ERROR",
            "QUOTA_EXCEEDED", "UNAVAILABLE", "INTERNAL", "UNSPECIFIED_ERROR",
        ]
        let isCode = codes.contains(told.reason)
        self.init(told.status, isCode ? told.reason : nil, told.detail)
        if !isCode, told.reason != "none" { info = told.reason }
        retryAfter = told.retryAfter
    }
}
