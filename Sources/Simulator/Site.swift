import HTTP2
import HTTP2Server
import JSON
import Turnstone
import Unix

/// The stand-in for OGS, over HTTP.
final class Site {
    var board = Board()
    var faults: [SiteFault] = []
    /// Whether answers have an `ETag`, and unchanged ones are 304.
    var hasEntityTags = false
    var usesGzip = false
    private(set) var requests = 0
    private(set) var unchanged = 0
    /// The faults of requests that OGS's operators would not like.
    private(set) var violations: [String] = []
    private(set) var requestsByPlayer: [Int64: Int] = [:]
    private(set) var busiestSecond = 0
    private var second: (Int64, count: Int) = (0, 0)

    func react(to request: ServerRequest) -> Reaction {
        count()
        let fields = request.fields
        if let fault = fault(of: fields) {
            violations.append(fault)
            return .answer(detail(400, fault))
        }
        if let name = searchedName(fields[":path"] ?? "") {
            return answer(strike(0), fields) { board.search(name) }
        }
        if let player = profilePlayer(fields[":path"] ?? "") {
            requestsByPlayer[player, default: 0] += 1
            return answer(strike(player), fields) { board.profile(player) }
        }
        guard let player = player(fields[":path"] ?? "") else {
            return .answer(detail(404, "Not found."))
        }
        requestsByPlayer[player, default: 0] += 1
        let fault = strike(player)
        let delay = fault?.delay ?? .seconds(0)
        switch fault?.effect {
        case .status(let status, let retryAfter):
            return .answer(errorAnswer(status, retryAfter), after: delay)
        case .page: return .answer(page(200), after: delay)
        case .stall: return .stall
        case .drop: return .drop(after: delay)
        case .missing(let member):
            return .answer(full(player, fields, without: member), after: delay)
        case .cut:
            var answer = full(player, fields)
            answer.body.removeLast(answer.body.count / 2)
            answer.resetCode = 2  // INTERNAL_ERROR
            return .answer(answer, after: delay)
        case .delay, nil: return .answer(full(player, fields), after: delay)
        }
    }

    /// Counts a request, by a clock that no command sets.
    private func count() {
        requests += 1
        let now = Instant.now.milliseconds / 1000
        second = now == second.0 ? (second.0, second.count + 1) : (now, 1)
        busiestSecond = max(busiestSecond, second.count)
    }

    /// Describes what OGS's operators would not like about a request.
    private func fault(of fields: HeaderFields) -> String? {
        if fields[":method"] != "GET" { return "the method is not GET" }
        if fields["cookie"] != nil { return "there is a cookie" }
        if fields["authorization"] != nil { return "there is a credential" }
        let agent = (fields["user-agent"] ?? "").lowercased()
        let libraries = ["curl/", "go-http-client", "python", "libcurl", "okhttp", "swift", "wget"]
        if agent.isEmpty || libraries.contains(where: { agent.hasPrefix($0) }) {
            return "User-Agent names a library, or nobody"
        }
        if !agent.contains("/") { return "User-Agent names no product with its version" }
        let encodings = fields["accept-encoding"] ?? ""
        if !encodings.contains("gzip") { return "Accept-Encoding does not offer gzip" }
        return fields.repeatedName.map { "\($0) comes twice" }
    }

    private func player(_ path: String) -> Int64? {
        let prefix = "/api/v1/players/"
        guard path.hasPrefix(prefix), path.hasSuffix("/full") else { return nil }
        return Int64(path.dropFirst(prefix.count).dropLast(5))
    }

    /// The name in `/api/v1/players?username=`.
    private func searchedName(_ path: String) -> String? {
        let prefixes = ["/api/v1/players?username=", "/api/v1/players/?username="]
        guard let prefix = prefixes.first(where: { path.hasPrefix($0) }) else { return nil }
        var bytes: [UInt8] = []
        var rest = Array(path.utf8.dropFirst(prefix.utf8.count))[...]
        while let byte = rest.popFirst() {
            let digits = rest.prefix(2).compactMap(hexValue)
            if byte == UInt8(ascii: "%"), digits.count == 2 {
                bytes.append(digits[0] << 4 | digits[1])
                rest = rest.dropFirst(2)
            } else {
                bytes.append(byte == UInt8(ascii: "+") ? 32 : byte)
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// The player in `/api/v1/players/{id}`.
    private func profilePlayer(_ path: String) -> Int64? {
        let prefix = "/api/v1/players/"
        return path.hasPrefix(prefix) ? Int64(path.dropFirst(prefix.count)) : nil
    }

    /// The answer to a request for a profile or a search, which have the faults of players' games too.
    private func answer(
        _ fault: SiteFault?, _ fields: HeaderFields, body: () -> [UInt8]?
    ) -> Reaction {
        let delay = fault?.delay ?? .seconds(0)
        switch fault?.effect {
        case .status(let status, let retryAfter):
            return .answer(errorAnswer(status, retryAfter), after: delay)
        case .page: return .answer(page(200), after: delay)
        case .stall: return .stall
        case .drop: return .drop(after: delay)
        case .missing, .cut, .delay, nil:
            guard let body = body() else { return .answer(detail(404, "Not found."), after: delay) }
            return .answer(
                ServerAnswer(status: 200, [("content-type", "application/json")], body: body),
                after: delay)
        }
    }

    private func strike(_ player: Int64) -> SiteFault? {
        for index in faults.indices where faults[index].strikes(player) {
            let fault = faults[index]
            if fault.remaining == 0 { faults.remove(at: index) }
            return fault
        }
        return nil
    }

    // MARK: Answers

    private func full(
        _ player: Int64, _ request: HeaderFields, without missing: String? = nil
    ) -> ServerAnswer {
        guard let body = board.full(player, without: missing) else {
            return detail(404, "Not found.")
        }
        var answer = ServerAnswer(status: 200, [("content-type", "application/json")], body: body)
        if hasEntityTags {
            let tag = board.entityTag(player)
            if request["if-none-match"] == tag {
                unchanged += 1
                return ServerAnswer(status: 304, [("etag", tag)])
            }
            answer.fields.append("etag", tag, indexed: false)
        }
        if usesGzip {
            answer.fields.append("content-encoding", "gzip")
            answer.body = gzipStored(body)
        }
        answer.fields.append("vary", "Accept-Encoding")
        return answer
    }

    private func detail(_ status: Int, _ text: String) -> ServerAnswer {
        let body = JSON.text(["detail": .string(text)])
        return ServerAnswer(status: status, [("content-type", "application/json")], body: body)
    }

    private func errorAnswer(_ status: Int, _ retryAfter: String?) -> ServerAnswer {
        // OGS's reverse proxy sends such answers, in HTML.
        var answer = status >= 502 ? page(status) : detail(status, "As told.")
        if let retryAfter { answer.fields.append("retry-after", retryAfter) }
        return answer
    }

    private func page(_ status: Int) -> ServerAnswer {
        let text =
            "<!DOCTYPE html>\n<html><head><title>OGS</title></head><body>Maintenance</body></html>\n"
        return ServerAnswer(
            status: status, [("content-type", "text/html; charset=utf-8")], body: Array(text.utf8))
    }

    // MARK: All of it

    func reset() {
        board = Board()
        faults = []
        hasEntityTags = false
        usesGzip = false
        requests = 0
        unchanged = 0
        violations = []
        requestsByPlayer = [:]
        busiestSecond = 0
    }
}
