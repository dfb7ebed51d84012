import Foundation

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
    /// - Parameters:
    ///   - path: below the address, percent-encoded, without a slash in front.
    ///   - body: what is sent as JSON.
    /// - Returns: the answer, with a status of 200 to 299.
    func send(
        _ method: String, _ path: String, body: (any Encodable & Sendable)? = nil,
        headers: [String: String] = [:]
    ) async throws(TurnstoneError) -> HTTPAnswer {
        var attempt = 1
        while true {
            let answer = try await once(method, path, body, headers)
            if (200..<300).contains(answer.status) { return answer }
            let error = Self.error(answer)
            guard case .later(let pause, _) = error, attempt < patience.attempts,
                (pause ?? .seconds(1)) <= patience.longestPause
            else { throw error }
            do { try await patience.sleep(pause ?? .seconds(1)) } catch { throw .cancelled }
            attempt += 1
        }
    }

    /// The same, and reads the answer.
    func value<Value: Decodable>(
        _ method: String, _ path: String, as type: Value.Type = Value.self,
        body: (any Encodable & Sendable)? = nil, headers: [String: String] = [:]
    ) async throws(TurnstoneError) -> Value {
        try Self.read(try await send(method, path, body: body, headers: headers))
    }

    static func read<Value: Decodable>(
        _ answer: HTTPAnswer, as type: Value.Type = Value.self
    ) throws(TurnstoneError) -> Value {
        do { return try decoder.decode(type, from: answer.body) } catch {
            throw .unexpected("the answer has another form than expected: \(error)")
        }
    }

    private func once(
        _ method: String, _ path: String, _ body: (any Encodable & Sendable)?,
        _ headers: [String: String]
    ) async throws(TurnstoneError) -> HTTPAnswer {
        guard let url = url(of: path) else {
            throw .unexpected("\(base.absoluteString) is not the address of an installation")
        }
        var request = HTTPRequest(method: method, url: url, headers: headers, body: nil)
        do {
            if let (name, value) = try await credential() { request.headers[name] = value }
            if let body {
                request.headers["Content-Type"] = "application/json"
                request.body = try Self.encoder.encode(body)
            }
            return try await transport.answer(to: request)
        } catch is CancellationError {
            throw .cancelled
        } catch let error as TurnstoneError {
            throw error
        } catch {
            if Task.isCancelled { throw .cancelled }
            throw .unreachable("\(base.absoluteString): \(error.localizedDescription)")
        }
    }

    /// Nil if the address is not one of the web, or has a query or a fragment.
    private func url(of path: String) -> URL? {
        guard ["http", "https"].contains(base.scheme?.lowercased()), base.host != nil,
            base.query == nil, base.fragment == nil
        else { return nil }
        let slash = base.absoluteString.hasSuffix("/") ? "" : "/"
        return URL(string: base.absoluteString + slash + path)
    }

    private struct Refusal: Decodable { let error: String }

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
        encoder.dateEncodingStrategy = .iso8601
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
    static func encoded(_ part: String) -> String {
        let unreserved = CharacterSet(
            charactersIn: "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~")
        return part.addingPercentEncoding(withAllowedCharacters: unreserved) ?? part
    }
}
