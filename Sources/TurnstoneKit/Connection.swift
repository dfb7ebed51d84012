import Foundation

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// The part that all clients share: the address, the credential and the handling of answers.
struct Connection: Sendable {
    /// The installation's address, with the prefix under which it is mounted.
    let base: URL
    /// The header that says who calls. Nil: anyone may call.
    let credential: @Sendable () async throws -> (name: String, value: String)?
    let transport: any Transport
    let patience: Patience

    /// Sends a request, and repeats it as `patience` allows.
    ///
    /// A 429 or 503 counts as the installation's own if its body is JSON with `error`. A proxy that answers so is
    /// taken for the installation. A request with `If-Match` is not repeated after a 503: if it was done, the
    /// repetition would say that somebody else has changed it.
    ///
    /// - Parameters:
    ///   - path: below the address, of percent-encoded parts, without a slash in front.
    ///   - body: what is sent as JSON.
    ///   - once: whether the installation may have done a part of it before its 503, which must not be done twice.
    ///     Only a 429 is followed by a repetition then.
    ///   - isAnswer: whether an answer with another status is no refusal. `mayBeDone`: a 503 came before it.
    /// - Returns: the answer, with a status of 200 to 299 or as `isAnswer` says.
    func send(
        _ method: String, _ path: String, body: (any Encodable & Sendable)? = nil,
        headers: [String: String] = [:], once: Bool = false,
        accepting isAnswer: (_ answer: HTTPAnswer, _ mayBeDone: Bool) -> Bool = { _, _ in false }
    ) async throws(TurnstoneError) -> HTTPAnswer {
        let request = try await request(method, path, body, headers)
        let once = once || headers["If-Match"] != nil
        var mayBeDone = false
        var attempt = 1
        while true {
            let answer = try await answer(to: request)
            if (200..<300).contains(answer.status) || isAnswer(answer, mayBeDone) { return answer }
            let error = Self.error(answer)
            // The installation has done nothing, or a part that a repetition completes. A proxy may refuse a
            // request after it has passed it on.
            guard case .later(let pause, _) = error, method == "GET" || Self.isOwnRefusal(answer),
                !once || answer.status == 429,
                attempt < patience.attempts, (pause ?? .seconds(1)) <= patience.longestPause
            else { throw error }
            do { try await patience.sleep(pause ?? .seconds(1)) } catch { throw .cancelled }
            if answer.status == 503 { mayBeDone = true }
            attempt += 1
        }
    }

    /// The same, and reads the answer.
    func value<Value: Decodable>(
        _ method: String, _ path: String, as type: Value.Type = Value.self,
        body: (any Encodable & Sendable)? = nil, headers: [String: String] = [:],
        once: Bool = false
    ) async throws(TurnstoneError) -> Value {
        try Self.read(try await send(method, path, body: body, headers: headers, once: once))
    }

    static func read<Value: Decodable>(
        _ answer: HTTPAnswer, as type: Value.Type = Value.self
    ) throws(TurnstoneError) -> Value {
        do { return try decoder.decode(type, from: answer.body) } catch {
            throw .unexpected("the answer has another form than expected: \(error)")
        }
    }

    /// Removes something, and reads that it was done. A page of something between is no such answer, whatever its
    /// status.
    ///
    /// - Parameters:
    ///   - member: the answer's member that says so, by its value.
    ///   - absent: as for ``removal(_:body:absent:)``.
    func remove(
        _ path: String, body: (any Encodable & Sendable)? = nil,
        member: (name: String, value: JSONValue) = ("success", true), absent: [Int] = [404]
    ) async throws(TurnstoneError) {
        guard let answer = try await removal(path, body: body, absent: absent) else { return }
        guard try Self.read(answer, as: [String: JSONValue].self)[member.name] == member.value
        else { throw .unexpected("the answer does not say that it was done") }
    }

    /// Sends a removal.
    ///
    /// - Parameter absent: the statuses that say that it is not there.
    /// - Returns: the answer. Nil: it is not there after a 503, before which it may have been removed.
    func removal(
        _ path: String, body: (any Encodable & Sendable)? = nil, absent: [Int] = [404]
    ) async throws(TurnstoneError) -> HTTPAnswer? {
        let answer = try await send("DELETE", path, body: body) { answer, mayBeDone in
            mayBeDone && absent.contains(answer.status) && Self.isOwnRefusal(answer)
        }
        return absent.contains(answer.status) ? nil : answer
    }

    /// Reads a document whose members are the caller's own business.
    func document(_ path: String) async throws(TurnstoneError) -> [String: JSONValue] {
        let answer = try await value("GET", path, as: [String: JSONValue].self)
        guard answer["success"] == true else { throw .unexpected("the answer says no success") }
        return answer
    }

    private func request(
        _ method: String, _ path: String, _ body: (any Encodable & Sendable)?,
        _ headers: [String: String]
    ) async throws(TurnstoneError) -> HTTPRequest {
        var request = HTTPRequest(method: method, url: try url(of: path), headers: headers)
        if let body {
            request.headers["Content-Type"] = "application/json"
            // The encoder would need the thread's whole stack for some thousands of levels.
            if let members = body as? [String: JSONValue], JSONValue.object(members).isTooDeep {
                throw .invalid(
                    "more than \(JSONValue.maximalDepth) levels of arrays and objects cannot be sent"
                )
            }
            do { request.body = try Self.encoder.encode(body) } catch {
                // Without the value: Foundation cannot describe each date.
                guard case EncodingError.invalidValue(_, let context) = error else {
                    throw .invalid("what is to be sent cannot be written as JSON")
                }
                let place = context.codingPath.map(\.stringValue).joined(separator: ".")
                throw .invalid("\(place) cannot be sent: \(context.debugDescription)")
            }
        }
        return request
    }

    private func answer(to request: HTTPRequest) async throws(TurnstoneError) -> HTTPAnswer {
        do {
            // It is asked for again before a repetition, so it is still good then.
            guard let (name, value) = try await credential() else {
                return try await transport.answer(to: request)
            }
            guard value.utf8.allSatisfy({ $0 > 31 && $0 != 127 }) else {
                throw TurnstoneError.invalid(
                    "the key or the token has a line break or another control character")
            }
            var request = request
            request.headers[name] = value
            var answer = try await transport.answer(to: request)
            // Some proxies show in a refusal what they were sent.
            let secret =
                name == "Authorization" ? String(value.drop { $0 != " " }.dropFirst()) : value
            if answer.status >= 300, secret.utf8.count >= 8 {
                var text = String(decoding: answer.body, as: UTF8.self)
                for spelling in Self.spellings(of: secret) {
                    text = text.replacingOccurrences(of: spelling, with: "…")
                }
                answer.body = Data(text.utf8)
            }
            return answer
        } catch is CancellationError {
            throw .cancelled
        } catch let error as TurnstoneError {
            throw error
        } catch {
            if Task.isCancelled || (error as? URLError)?.code == .cancelled { throw .cancelled }
            throw .unreachable("\(address): \(error.localizedDescription)")
        }
    }

    /// A text as it is, and as JSON has it between quotation marks, where each slash may have a backslash.
    private static func spellings(of text: String) -> Set<String> {
        let formats: [JSONEncoder.OutputFormatting] = [[], .withoutEscapingSlashes]
        let escaped = formats.compactMap { format in
            let encoder = JSONEncoder()
            encoder.outputFormatting = format
            return (try? encoder.encode(text)).map {
                String(String(decoding: $0, as: UTF8.self).dropFirst().dropLast())
            }
        }
        return Set(escaped + [text])
    }

    private func url(of path: String) throws(TurnstoneError) -> URL {
        // `https` for all but this machine: keys are sent.
        guard var parts = URLComponents(url: base, resolvingAgainstBaseURL: true),
            let scheme = parts.scheme?.lowercased(),
            scheme == "https" || scheme == "http" && base.isOnThisMachine,
            parts.host?.isEmpty == false, (1...65_535).contains(parts.port ?? 443),
            parts.user == nil, parts.password == nil,
            parts.query == nil, parts.fragment == nil
        else { throw .unexpected("\(address) is not the address of an installation") }
        parts.scheme = scheme
        guard let address = parts.string,
            let url = URL(string: address + (address.hasSuffix("/") ? "" : "/") + path)
        else { throw .unexpected("\(address) is not the address of an installation") }
        return url
    }

    /// The address as it may be shown: without a name and a password.
    private var address: String {
        guard var parts = URLComponents(url: base, resolvingAgainstBaseURL: true),
            parts.user != nil || parts.password != nil
        else { return base.absoluteString }
        parts.user = nil
        parts.password = nil
        return (parts.string ?? parts.host ?? "") + " with a name or a password"
    }

    private struct Refusal: Decodable { let error: String }

    /// Whether a refusal has what an installation's has, and nothing else.
    private static func isOwnRefusal(_ answer: HTTPAnswer) -> Bool {
        guard let members = try? decoder.decode([String: JSONValue].self, from: answer.body),
            members["error"]?.string?.isEmpty == false
        else { return false }
        return members.allSatisfy { $0.key == "error" || $0.key == "success" && $0.value == false }
    }

    private static func error(_ answer: HTTPAnswer) -> TurnstoneError {
        let refusal = try? decoder.decode(Refusal.self, from: answer.body)
        let sentence = refusal?.error ?? "status \(answer.status)"
        switch answer.status {
        // A proxy or a hotel's network says it: it knows neither the caller nor what was asked for.
        case 400..<500 where refusal == nil && answer.status != 429:
            return .unexpected("status \(answer.status), but not from an installation")
        case 401: return .unauthorized(sentence)
        case 403: return .forbidden(sentence)
        case 404: return .notFound(sentence)
        case 409: return .conflict(sentence)
        case 412: return .changed(sentence)
        case 429, 503: return .later(after: Patience.pause(answer.headers["retry-after"]), sentence)
        case 400..<500: return .refused(status: answer.status, sentence)
        case 500...: return .broken(status: answer.status, sentence)
        default: return .unexpected("status \(answer.status)")
        }
    }

    private static var encoder: JSONEncoder {
        let encoder = JSONEncoder()
        encoder.dateEncodingStrategy = .custom { date, encoder in
            // The years 1970 to 9999: others have no form that the installation reads.
            guard (0..<253_402_300_800).contains(date.timeIntervalSince1970) else {
                throw EncodingError.invalidValue(
                    date,
                    .init(
                        codingPath: encoder.codingPath,
                        debugDescription: "it is no moment of the years 1970 to 9999"))
            }
            let format = Date.ISO8601FormatStyle(includingFractionalSeconds: true)
            var container = encoder.singleValueContainer()
            try container.encode(date.formatted(format))
        }
        // A request that is repeated with its idempotency key must be the same, byte for byte.
        encoder.outputFormatting = .sortedKeys
        return encoder
    }

    /// Moments have milliseconds in some answers, and none in others.
    private static var decoder: JSONDecoder {
        let decoder = JSONDecoder()
        decoder.dateDecodingStrategy = .custom { decoder in
            let container = try decoder.singleValueContainer()
            let text = try container.decode(String.self)
            let whole = Date.ISO8601FormatStyle()
            if let date = try? Date.ISO8601FormatStyle(includingFractionalSeconds: true).parse(text)
            {
                return date
            }
            guard let date = try? whole.parse(text) else {
                throw DecodingError.dataCorruptedError(
                    in: container, debugDescription: "\(text) is no moment")
            }
            return date
        }
        return decoder
    }

    /// A part of a path: everything but letters, digits, `-`, `.`, `_` and `~` is percent-encoded.
    ///
    /// - Throws: ``TurnstoneError/invalid(_:)`` for a part that names another path than the one it is in.
    static func encoded(_ part: String) throws(TurnstoneError) -> String {
        let unreserved = CharacterSet(
            charactersIn: "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~")
        guard !["", ".", ".."].contains(part),
            let encoded = part.addingPercentEncoding(withAllowedCharacters: unreserved)
        else { throw .invalid("\"\(part)\" cannot be in the path of a request") }
        return encoded
    }
}

extension URL {
    /// Whether the host is this machine, by one of its usual names.
    fileprivate var isOnThisMachine: Bool {
        ["localhost", "127.0.0.1", "::1", "[::1]"].contains(host?.lowercased())
    }
}
