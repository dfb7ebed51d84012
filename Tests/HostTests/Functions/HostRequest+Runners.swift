import Foundation
import JSON
import TestSupport
import Turnstone

/// A request as the runners hand it to a program.
extension HostRequest {
    /// API Gateway's payload 2.0: names in lower case, repeated fields joined, cookies by themselves.
    var apiGatewayEvent: JSONValue {
        var fields = joinedHeaders
        let cookies = fields.removeValue(forKey: "cookie")?.components(separatedBy: "; ") ?? []
        let isText = (fields["content-type"] ?? "application/json").contains("json")
        let text = String(decoding: body, as: UTF8.self)
        var event: JSONObject = [
            "version": "2.0", "routeKey": "$default", "rawPath": .string(path),
            "rawQueryString": .string(query), "headers": object(fields),
            "requestContext": ["http": ["method": .string(method), "path": .string(path)]],
            "isBase64Encoded": .bool(!isText),
        ]
        if !cookies.isEmpty { event["cookies"] = .array(cookies.map { .string($0) }) }
        if !body.isEmpty {
            event["body"] = .string(isText ? text : Data(body).base64EncodedString())
        }
        return .object(event)
    }

    /// A raw web action's parameters: the last of repeated fields; JSON, and bodies without a type, in
    /// base64.
    var openWhiskEvent: JSONValue {
        let fields = lastHeaders
        let type = fields["content-type"] ?? "application/octet-stream"
        let isText = type.hasPrefix("text/")
        let text = String(decoding: body, as: UTF8.self)
        return [
            "__ow_method": .string(method.lowercased()),
            "__ow_path": .string(path == "/" ? "" : path), "__ow_query": .string(query),
            "__ow_headers": object(fields),
            "__ow_body": .string(isText ? text : Data(body).base64EncodedString()),
        ]
    }

    /// A CloudEvent in structured mode, with the short form as its data.
    var cloudEvent: JSONValue {
        [
            "specversion": "1.0", "id": "7c1f", "source": "/gateway", "type": "org.example.request",
            "datacontenttype": "application/json",
            "data": [
                "method": .string(method), "path": .string(target),
                "headers": object(lastHeaders),
                "body": .string(String(decoding: body, as: UTF8.self)),
            ],
        ]
    }

    /// OpenFaaS' variables: of fields that come twice the first, the path decoded.
    ///
    /// `nil` for requests that a watchdog answers by itself: some methods, and paths that Go normalizes or
    /// that no variable can hold.
    var watchdogVariables: [String]? {
        guard ["GET", "POST", "PUT", "PATCH", "DELETE"].contains(method),
            let decoded = path.removingPercentEncoding, !decoded.contains("\0"),
            !decoded.split(separator: "/", omittingEmptySubsequences: false).dropFirst().dropLast()
                .contains(where: { $0.isEmpty }),
            !decoded.split(separator: "/").contains(where: { $0 == "." || $0 == ".." })
        else { return nil }
        var variables: [String] = []
        for (name, value) in headers {
            let words = name.lowercased().split(separator: "-").map {
                $0.prefix(1).uppercased() + $0.dropFirst()
            }
            let variable = "Http_\(words.joined(separator: "_"))="
            if !variables.contains(where: { $0.hasPrefix(variable) }) {
                variables.append(variable + value)
            }
        }
        variables += [
            "Http_Method=\(method)", "Http_ContentLength=\(body.count)",
            "Http_Content_Length=\(body.count)", "Http_Path=\(decoded)", "Http_Host=localhost",
        ]
        return query.isEmpty ? variables : variables + ["Http_Query=\(query)"]
    }

    private var path: String { String(target.prefix { $0 != "?" }) }
    private var query: String { String(target.dropFirst(path.count + 1)) }

    private var joinedHeaders: [String: String] {
        Dictionary(headers.map { ($0.0.lowercased(), $0.1) }) { "\($0),\($1)" }
    }

    private var lastHeaders: [String: String] {
        Dictionary(headers.map { ($0.0.lowercased(), $0.1) }) { $1 }
    }

    private func object(_ fields: [String: String]) -> JSONValue {
        var object = JSONObject()
        for (name, value) in fields.sorted(by: { $0.key < $1.key }) {
            object[name] = .string(value)
        }
        return .object(object)
    }
}
