import Edge
import Queueing
import Store
import Turnstone

extension Request {
    /// Accepts the message that this request describes, and starts what delivers it.
    ///
    /// - Parameters:
    ///   - key: the answer to a repeated request is that of the first one, also if this one would be refused now.
    ///   - read: reads the message, and to whom it goes.
    @export(interface)
    package func send(
        once key: IdempotencyKey?, _ read: () throws(Failure) -> (Message, Audience)
    ) throws(Failure) -> Response {
        guard let key else {
            let (message, audience) = try read()
            let state = try State(variables)
            return try Outbox(state, now: time).send(message, to: audience, once: nil)
                .response(to: self, state)
        }
        let state = try State(variables)
        let outbox = Outbox(state, now: time)
        if let sent = try outbox.repeated(key) { return sent.response(to: self, state) }
        let (message, audience) = try read()
        return try outbox.send(message, to: audience, once: key).response(to: self, state)
    }
}

extension Outbox.Sent {
    /// Starts what delivers the message.
    ///
    /// - Returns: the answer to the request, which is the same each time the request is repeated.
    fileprivate func response(to request: Request, _ state: State) -> Response {
        if devices > 0 { state.startDrainer(for: request) }
        var body: JSONObject = [
            "success": true, "id": .string(id), "devices": .integer(Int64(devices)),
        ]
        body["skipped"] = skipped > 0 ? .integer(Int64(skipped)) : nil
        body["later"] = later.isEmpty ? nil : JSONValue(texts: later)
        body["failed"] = failed.isEmpty ? nil : JSONValue(texts: failed)
        return Response(status: 202, body: .object(body))
    }
}
