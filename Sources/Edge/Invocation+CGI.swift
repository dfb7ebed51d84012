import Turnstone
import Unix

// CGI/1.1 (RFC 3875), and OpenFaaS' watchdogs, which pass a request in much the same way. Arguments are
// ignored, because a query without `=` becomes arguments (section 4.4).

extension Invocation {
    func readCGI(
        _ request: inout RawRequest,
        _ variables: [(name: String, value: String)] = ThisProcess.environment,
        from input: inout Input, bodyLimit: Int
    ) throws(Failure) {
        let length = readCGIHead(&request, variables)
        do throws(Failure) {
            request.body = .bytes(
                try body(length: length, request.headers, from: &input, limit: bodyLimit))
        } catch {
            // A host that cannot pass on the whole body may answer with an error of its own (fcgiwrap,
            // Apache).
            if error.disposition == .refused(.tooLarge) {
                input.drain(upTo: length.flatMap(contentLength))
            }
            throw error
        }
        try request.headers.checkSize()
    }

    /// Reads everything but the body.
    ///
    /// - Returns: the body's length as it was announced.
    @discardableResult
    func readCGIHead(
        _ request: inout RawRequest,
        _ variables: [(name: String, value: String)] = ThisProcess.environment
    ) -> String? {
        var length: String?
        for (name, value) in variables {
            switch name {
            case "REQUEST_METHOD": request.method = value
            case "REQUEST_URI": request.target = value
            case "CONTENT_LENGTH": length = value
            case "REMOTE_ADDR": request.address = value
            case "CONTENT_TYPE": request.headers.append("content-type", value)
            default: request.headers.append(variable: name, prefix: "HTTP_", value)
            }
        }
        return length
    }

    /// Reads the announced number of bytes, or to the end if the host passes on a chunked body without its
    /// length (as Apache does).
    private func body(
        length: String?, _ headers: Headers, from input: inout Input, limit: Int
    ) throws(Failure) -> [UInt8] {
        if let length, !length.isEmpty {
            guard let count = contentLength(length) else {
                throw .malformed("Content-Length must be a number of bytes")
            }
            guard count <= limit else { throw tooLarge(limit) }
            return try input.read(count)
        }
        guard headers["transfer-encoding"] != nil else { return [] }
        return try input.readToEnd(limit: limit)
    }

    func writeCGI(_ response: Response, withoutBody: Bool) -> Bool {
        var text = "Status: \(response.status) \(response.reason)\r\n"
        for (name, value) in response.allHeaders { text += "\(name): \(value)\r\n" }
        text += "\r\n"
        return writeAnswer(Array(text.utf8) + (withoutBody ? [] : response.bytes))
    }

    func readWatchdog(
        _ request: inout RawRequest, from input: inout Input, bodyLimit: Int
    ) throws(Failure) {
        readWatchdogHead(&request)
        try request.headers.checkSize()
        request.body = .bytes(try input.readToEnd(limit: bodyLimit))
    }

    /// Reads everything but the body.
    func readWatchdogHead(_ request: inout RawRequest) {
        request.target = "/"
        var query = ""
        for (name, value) in ThisProcess.environment {
            switch name {
            case "Http_Method": request.method = value
            case "Http_Path": request.target = watchdogTarget(value)
            case "Http_Query": query = value
            default: request.headers.append(variable: name, prefix: "Http_", value)
            }
        }
        if !query.isEmpty { request.target += "?" + query }
    }
}

/// Restores a target from a path that a watchdog has decoded: encodes characters that have a meaning in a
/// target.
func watchdogTarget(_ path: String) -> String {
    var target = ""
    for scalar in path.unicodeScalars {
        switch scalar {
        case "%": target += "%25"
        case "?": target += "%3F"
        case "#": target += "%23"
        default: target.unicodeScalars.append(scalar)
        }
    }
    return target
}

extension Headers {
    /// Appends a header field that a host has passed as a variable: `HTTP_X_API_KEY` is `x-api-key`.
    fileprivate mutating func append(variable: String, prefix: String, _ value: String) {
        guard variable.utf8.starts(with: prefix.utf8) else { return }
        let name = variable.utf8.dropFirst(prefix.utf8.count).map {
            $0 == UInt8(ascii: "_") ? UInt8(ascii: "-") : $0
        }
        append(String(decoding: name, as: UTF8.self), value)
    }

    func checkSize() throws(Failure) {
        var size = 0
        for (name, value) in fields { size += name.utf8.count + value.utf8.count + 4 }
        guard size <= headerLimit else { throw headersTooLarge }
    }
}

/// The most bytes that all header fields together may have.
let headerLimit = 16 * 1024

/// Parses a Content-Length, which may contain only digits (RFC 9110 section 8.6).
func contentLength(_ text: String) -> Int? {
    guard text.utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }) else {
        return nil
    }
    return Int(text)
}
