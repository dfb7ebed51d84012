import JSON
import Turnstone

/// A program's answer.
package struct Response {
    package var status: Int
    package var headers: [(name: String, value: String)] = []
    package var body: JSONValue
    /// The page's file that is sent instead of ``body``, and its media type.
    private(set) var file: (bytes: [UInt8], type: String)?

    package static func ok(_ body: JSONValue) -> Response {
        Response(status: 200, body: body)
    }

    package init(status: Int, body: JSONValue) {
        self.status = status
        self.body = body
    }

    /// An answer that is not JSON. It states how it may be cached.
    package init(status: Int, bytes: [UInt8], type: String) {
        self.init(status: status, body: .null)
        file = (bytes, type)
    }

    /// Whether the status allows a body; `HEAD` is handled elsewhere (RFC 9110 sections 15.3.5 and 15.4.5).
    var hasBody: Bool { status != 204 && status != 304 }

    /// The body as sent: a file, or JSON and a newline.
    var bytes: [UInt8] {
        guard hasBody else { return [] }
        return file?.bytes ?? JSON.text(body) + [UInt8(ascii: "\n")]
    }

    /// The header fields as sent.
    var allHeaders: [(name: String, value: String)] {
        (hasBody ? [("Content-Type", file?.type ?? "application/json")] : [])
            + (file == nil ? [("Cache-Control", "no-store")] : [])
            + [("X-Content-Type-Options", "nosniff")] + headers
    }

    var reason: String {
        for (status, reason) in reasons where status == self.status { return reason }
        return "Unknown"
    }
}

/// RFC 9110 section 15, RFC 6585.
private let reasons: [(Int, String)] = [
    (200, "OK"), (201, "Created"), (202, "Accepted"), (204, "No Content"),
    (304, "Not Modified"), (308, "Permanent Redirect"), (400, "Bad Request"),
    (401, "Unauthorized"), (403, "Forbidden"), (404, "Not Found"), (405, "Method Not Allowed"),
    (408, "Request Timeout"), (409, "Conflict"), (412, "Precondition Failed"),
    (413, "Content Too Large"), (415, "Unsupported Media Type"), (422, "Unprocessable Content"),
    (429, "Too Many Requests"), (431, "Request Header Fields Too Large"),
    (500, "Internal Server Error"), (502, "Bad Gateway"), (503, "Service Unavailable"),
]
