import Crypto
import JSON
import Turnstone

/// Where an event keeps the parts of a request.
struct EventParts {
    let method: JSONValue?
    let target: JSONValue?
    /// As it was sent, without its question mark, or its members.
    let query: JSONValue?
    let headers: JSONValue?
    let cookies: JSONValue?
    let body: JSONValue?
    /// Whether a body that is a text holds base64.
    let isBase64: Bool

    /// Tells the events apart by a member that no client can bring in: beside it, nothing of the others counts.
    init(_ event: JSONObject) {
        if event["__ow_method"] != nil {
            self.init(openWhisk: event)
        } else if let http = event["requestContext"]?.object?["http"]?.object {
            self.init(apiGateway: event, http)
        } else {
            self.init(short: event)
        }
    }

    /// API Gateway's HTTP API payload 2.0, also a Lambda function URL's.
    private init(apiGateway event: JSONObject, _ http: JSONObject) {
        method = http["method"]
        target = event["rawPath"]
        query = event["rawQueryString"]
        headers = event["headers"]
        cookies = event["cookies"]
        body = event["body"]
        isBase64 = event["isBase64Encoded"]?.bool ?? false
    }

    /// A raw web action's of OpenWhisk. Its method is in small letters, its path empty at the root, and a JSON body is
    /// in base64, where a text is not, and nothing says so.
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
    }

    /// The short form for a person: {"method": "POST", "path": "/register", "headers": {…}, "body": {…}}.
    private init(short event: JSONObject) {
        method = event["method"]
        target = event["path"]
        query = event["query"]
        headers = event["headers"]
        cookies = nil
        body = event["body"]
        isBase64 = event["isBase64Encoded"]?.bool ?? false
    }
}

/// The text with ASCII's small letters made capitals.
private func uppercased(_ text: String) -> String {
    let large = text.utf8.map {
        (UInt8(ascii: "a")...UInt8(ascii: "z")).contains($0) ? $0 & ~0x20 : $0
    }
    return String(decoding: large, as: UTF8.self)
}
