import Turnstone

/// The parts of a request, taken from an event.
struct EventParts {
    let method: JSONValue?
    let target: JSONValue?
    /// As sent, without the question mark, or as an object.
    let query: JSONValue?
    let headers: JSONValue?
    let cookies: JSONValue?
    let body: JSONValue?
    /// Whether a body that is a string holds base64.
    let isBase64: Bool
    /// The caller's network address, as the host states it.
    let address: String?

    /// Recognises the kind of event by a member that clients cannot set. Members of other kinds are then
    /// ignored.
    init(_ event: JSONObject) {
        if event["__ow_method"] != nil {
            self.init(openWhisk: event)
        } else if let http = event["requestContext"]?.object?["http"]?.object {
            self.init(apiGateway: event, http)
        } else {
            self.init(short: event)
        }
    }

    /// API Gateway's HTTP API payload 2.0, which Lambda function URLs also use.
    private init(apiGateway event: JSONObject, _ http: JSONObject) {
        method = http["method"]
        target = event["rawPath"]
        query = event["rawQueryString"]
        headers = event["headers"]
        cookies = event["cookies"]
        body = event["body"]
        isBase64 = event["isBase64Encoded"]?.bool ?? false
        address = http["sourceIp"]?.string
    }

    /// OpenWhisk's raw web action. Its method is in lower case, and its path is empty at the root. JSON
    /// bodies are in base64, other texts are not, and nothing says which.
    private init(openWhisk event: JSONObject) {
        method = (event["__ow_method"]?.string).map { .string(uppercased($0)) }
        let path = event["__ow_path"]
        target = path == .string("") ? "/" : path
        query = event["__ow_query"]
        headers = event["__ow_headers"]
        cookies = nil
        body = event["__ow_body"]
        let text = body?.string ?? ""
        isBase64 = text.utf8.first != UInt8(ascii: "{") && base64Decoded(text) != nil
        address = nil  // OpenWhisk passes only headers, which clients can write
    }

    /// The short form, for people: the members `method`, `path`, `query`, `headers` and `body`.
    private init(short event: JSONObject) {
        method = event["method"]
        target = event["path"]
        query = event["query"]
        headers = event["headers"]
        cookies = nil
        body = event["body"]
        isBase64 = event["isBase64Encoded"]?.bool ?? false
        address = nil
    }
}

/// The text with ASCII letters in upper case.
private func uppercased(_ text: String) -> String {
    let large = text.utf8.map {
        (UInt8(ascii: "a")...UInt8(ascii: "z")).contains($0) ? $0 & ~0x20 : $0
    }
    return String(decoding: large, as: UTF8.self)
}
