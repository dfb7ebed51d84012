import HTTP2
import HTTP2Server
import JSON
import Turnstone
import Unix

/// The stand-in for a Web Push service, and for the browsers that have subscribed there.
final class WebService {
    /// A message that came, with its answer.
    struct Entry {
        let time: Timestamp
        let connection: Int
        let browser: String
        let fields: [(name: String, value: String)]
        let payload: JSONValue?
        /// 0 without an answer.
        let status: Int
        let reason: String?
        let isAccepted: Bool
    }

    let origin: String
    /// The index of its port among the server's.
    let listener: Int
    private(set) var browsers: [String: WebBrowser] = [:]
    var vapid = VAPIDCheck()
    var faults: [GatewayFault] = []
    var connections = ConnectionFaults()
    var isDeaf = false
    var isQuiet = false
    private(set) var entries: [Entry] = []
    private(set) var requests = 0
    private(set) var accepted = 0
    private(set) var answers: [String: Int] = [:]

    init(origin: String, listener: Int) {
        self.origin = origin
        self.listener = listener
    }

    /// Subscribes another browser.
    ///
    /// - Parameter serverKey: the only VAPID key that may push to it, in base64url; `nil` for any.
    func subscribe(serverKey: String?) throws(Failure) -> WebBrowser {
        let bytes = try randomBytes(32)
        let browser = try WebBrowser(
            id: hex(Array(bytes.prefix(16))), serverKey: serverKey,
            secret: Array(bytes.suffix(16)))
        browsers[browser.id] = browser
        return browser
    }

    func react(
        to request: ServerRequest, on connection: ServerConnection, now: Timestamp
    ) -> Reaction? {
        guard connections.admit(request, on: connection) else { return nil }
        requests += 1
        var id = ""
        var payload: JSONValue?
        var fault: GatewayFault?
        var refusal: PushRefusal?
        do throws(PushRefusal) {
            id = try WebPushCheck.browser(request.fields)
            let key = try vapid.check(request.fields["authorization"], origin: origin, now: now)
            try WebPushCheck.checkDelivery(request.fields)
            guard request.bodyLength <= 4096 else {
                throw PushRefusal(413, "PayloadTooLarge", "\(request.bodyLength) bytes")
            }
            let browser = try browser(id, key: key)
            guard let text = browser.decrypt(request.body) else {
                throw PushRefusal(400, "BadPayload", "the browser cannot decrypt it")
            }
            payload = try WebMessageCheck.check(text)
            fault = faults.strike(id)
            if case .refuse(let refusal) = fault?.effect { throw refusal }
        } catch { refusal = error }

        let isAccepted = refusal == nil && (fault?.doesAccept ?? true)
        if isAccepted { accepted += 1 }
        let status = refusal?.status ?? (fault?.answers ?? true ? 201 : 0)
        answers[refusal?.reason ?? (status == 0 ? "no answer" : "accepted"), default: 0] += 1
        if !isQuiet {
            entries.append(
                Entry(
                    time: now, connection: connection.number, browser: id,
                    fields: request.fields.all, payload: payload, status: status,
                    reason: refusal.map {
                        $0.detail.isEmpty ? $0.reason : "\($0.reason): \($0.detail)"
                    }, isAccepted: isAccepted))
        }
        return reaction(refusal, fault)
    }

    private func browser(_ id: String, key: String) throws(PushRefusal) -> WebBrowser {
        guard let browser = browsers[id] else {
            throw PushRefusal(404, "BadPath", "there is no such subscription")
        }
        if let status = browser.goneStatus {
            throw PushRefusal(status, "Unsubscribed", "marked so")
        }
        guard browser.serverKey == nil || browser.serverKey == key else {
            throw PushRefusal(403, "VapidPkHashMismatch", "it was made with another key")
        }
        return browser
    }

    private func reaction(_ refusal: PushRefusal?, _ fault: GatewayFault?) -> Reaction {
        let delay = fault?.delay ?? .seconds(0)
        switch fault?.effect {
        case .stall: return .stall
        case .drop(let resetting): return .drop(after: delay, resetting: resetting)
        case .reset(let code): return .reset(code: code, after: delay)
        case .refuse, .delay, nil: break
        }
        guard let refusal else {
            let location = ("location", "\(origin)/message/\(requests)")
            return .answer(ServerAnswer(status: 201, [location, ("ttl", "0")]), after: delay)
        }
        var fields = [("content-type", "application/json")]
        if let moment = refusal.retryAfter { fields.append(("retry-after", moment)) }
        // Where a client that follows redirects would be seen.
        if (300...399).contains(refusal.status) {
            fields.append(("location", "\(origin)/push/elsewhere"))
        }
        return .answer(
            ServerAnswer(status: refusal.status, fields, body: refusal.body), after: delay)
    }

    func reset() {
        for browser in browsers.values { browser.goneStatus = nil }
        vapid.reset()
        clearFaults()
        entries = []
        requests = 0
        accepted = 0
        answers = [:]
    }

    func clearFaults() {
        faults = []
        connections.clear()
        isDeaf = false
    }

    var report: JSONObject {
        var counts = JSONObject()
        for (reason, count) in answers.sorted(by: { $0.key < $1.key }) {
            counts.append(reason, JSONValue(count))
        }
        var report: JSONObject = [
            "requests": JSONValue(requests), "accepted": JSONValue(accepted),
            "answers": .object(counts), "vapid_tokens": JSONValue(vapid.count),
        ]
        if !isQuiet { report["pushes"] = .array(entries.map(\.json)) }
        return report
    }
}

extension WebService.Entry {
    fileprivate var json: JSONValue {
        var headers = JSONObject()
        for field in fields where !field.name.hasPrefix(":") && field.name != "authorization" {
            headers[field.name] = .string(field.value)
        }
        var members: JSONObject = [
            "service": "web", "time": JSONValue(time), "connection": JSONValue(connection),
            "subscription": .string(browser), "accepted": .bool(isAccepted),
            "status": JSONValue(status),
        ]
        if let reason { members["reason"] = .string(reason) }
        members["headers"] = .object(headers)
        if let payload { members["payload"] = payload }
        return .object(members)
    }
}
