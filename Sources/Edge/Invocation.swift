import Turnstone
import Unix

/// How this process was started, which determines how it reads the request and writes the answer.
enum Invocation: Equatable {
    /// CGI/1.1 (RFC 3875).
    case cgi
    /// A JSON event on standard input.
    case event
    /// OpenFaaS' watchdogs. They pass on no status and no headers, so the answer is written as an event's.
    case watchdog
    /// A raw HTTP request on standard input, as from an inetd.
    case inetd

    static func detected(by input: inout Input) -> Invocation {
        for (name, _) in ThisProcess.environment {
            if name == "GATEWAY_INTERFACE" { return .cgi }
            if name == "Http_Method" { return .watchdog }
        }
        do throws(Failure) {
            while try input.pending.isEmpty ? input.fill() : false {}
        } catch {}  // a silent client: reading the request meets the deadline again and reports it
        let first = input.pending.first {
            $0 != UInt8(ascii: " ") && $0 != UInt8(ascii: "\n") && $0 != UInt8(ascii: "\r")
                && $0 != UInt8(ascii: "\t")
        }
        // No HTTP method begins with these. An array is refused as an event.
        return first == UInt8(ascii: "{") || first == UInt8(ascii: "[") ? .event : .inetd
    }

    /// Reads the request. If that fails, `request` holds what was read until then: the answer depends on its
    /// header fields.
    func read(
        _ request: inout RawRequest, from input: inout Input, bodyLimit: Int
    ) throws(Failure) {
        switch self {
        case .cgi: try readCGI(&request, from: &input, bodyLimit: bodyLimit)
        case .event: try readEvent(&request, from: &input, bodyLimit: bodyLimit)
        case .watchdog: try readWatchdog(&request, from: &input, bodyLimit: bodyLimit)
        case .inetd: try readInetd(&request, from: &input, bodyLimit: bodyLimit)
        }
    }

    /// - Returns: whether the whole answer was written, or the client has gone.
    func write(_ response: Response, withoutBody: Bool, after input: inout Input) -> Bool {
        switch self {
        case .cgi: writeCGI(response, withoutBody: withoutBody)
        case .event, .watchdog: writeEvent(response)
        case .inetd: writeInetd(response, withoutBody: withoutBody, after: &input)
        }
    }
}

/// Writes to standard output, and logs a failure to do so.
///
/// - Returns: whether all was written, or the client has gone.
@discardableResult
package func writeAnswer(_ bytes: [UInt8]) -> Bool {
    do throws(SystemError) {
        try StandardStreams.writeOutput(bytes)
        return true
    } catch {
        Log().failure(error.failure)
        return false
    }
}
