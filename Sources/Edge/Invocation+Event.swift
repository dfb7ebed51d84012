import JSON
import Turnstone
import Unix

// JSON events: those that `EventParts` knows, and CloudEvents around them.

extension Invocation {
    func readEvent(
        _ request: inout RawRequest, from input: inout Input, bodyLimit: Int
    ) throws(Failure) {
        // Base64 makes a body a third longer, and escapes in a string up to six times.
        let bytes = try input.readToEnd(limit: bodyLimit * 6 + headerLimit * 2, "event")
        let event = try event(bytes)
        let parts = try EventParts(CloudEvent.unwrapped(event))
        guard let method = parts.method?.string, let target = parts.target?.string else {
            throw .malformed("the event must name a method and a path")
        }
        request.method = method
        request.target = target + queryText(parts.query)
        try request.headers.append(members: parts.headers)
        try request.headers.append(cookies: parts.cookies)
        try request.headers.checkSize()
        request.body = try body(parts, limit: bodyLimit)
        request.isByHand = isByHand(event)
        // A client of an inetd can write an event, but cannot set the environment.
        request.address = peerAddress ?? parts.address
    }

    private func queryText(_ query: JSONValue?) -> String {
        if let text = query?.string { return text.isEmpty ? "" : "?" + text }
        let pairs = (query?.object?.members ?? []).compactMap { member in
            member.value.string.map { "\(percentEncoded(member.name))=\(percentEncoded($0))" }
        }
        return pairs.isEmpty ? "" : "?" + pairs.joined(separator: "&")
    }

    private func event(_ bytes: [UInt8]) throws(Failure) -> JSONObject {
        do throws(JSONError) {
            if let event = try JSON.parse(bytes).object { return event }
        } catch {
            throw .malformed(error.sentence(about: "the event"))
        }
        throw .malformed("the event must be a JSON object")
    }

    private func body(_ parts: EventParts, limit: Int) throws(Failure) -> Body {
        switch parts.body {
        case nil, .null: return .bytes([])
        case .string(let text):
            let bytes = try decoded(text, isBase64: parts.isBase64)
            guard bytes.count <= limit else { throw tooLarge(limit) }
            return .bytes(bytes)
        case let value?:
            guard JSON.text(value).count <= limit else { throw tooLarge(limit) }
            return .value(value)
        }
    }

    private func decoded(_ text: String, isBase64: Bool) throws(Failure) -> [UInt8] {
        guard isBase64 else { return Array(text.utf8) }
        guard let bytes = base64Decoded(text) else {
            throw .malformed("the event's body is not base64")
        }
        return bytes
    }

    func writeEvent(_ response: Response) -> Bool {
        var headers = JSONObject()
        for (name, value) in response.allHeaders { headers[lowercased(name)] = .string(value) }
        let (text, isBase64) = eventBody(response)
        let event: JSONValue = [
            "statusCode": .integer(Int64(response.status)), "headers": .object(headers),
            "body": .string(text), "isBase64Encoded": .bool(isBase64),
        ]
        return writeAnswer(JSON.text(event) + [UInt8(ascii: "\n")])
    }

    /// A file that is not a text in UTF-8 is in base64.
    private func eventBody(_ response: Response) -> (text: String, isBase64: Bool) {
        guard response.hasBody else { return ("", false) }
        guard let bytes = response.file?.bytes else {
            return (String(decoding: JSON.text(response.body), as: UTF8.self), false)
        }
        if let text = String(validating: bytes, as: UTF8.self) { return (text, false) }
        return (base64(bytes), true)
    }
}

extension Headers {
    fileprivate mutating func append(members: JSONValue?) throws(Failure) {
        guard let members, members != .null else { return }
        guard let members = members.object else {
            throw .malformed("the event's headers must be an object")
        }
        for member in members.members {
            guard let value = member.value.string else {
                throw .malformed("the event's header \(member.name) must be a string")
            }
            append(member.name, value)
        }
    }

    /// API Gateway removes cookies from the header fields and lists them one by one.
    fileprivate mutating func append(cookies: JSONValue?) throws(Failure) {
        guard let cookies = cookies?.array, !cookies.isEmpty else { return }
        let texts = cookies.compactMap { $0.string }
        guard texts.count == cookies.count else {
            throw .malformed("the event's cookies must be strings")
        }
        append("cookie", texts.joined(separator: "; "))
    }
}
