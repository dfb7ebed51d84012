import Turnstone
import Unix

/// A request as its front handed it over.
struct RawRequest {
    var method = ""
    /// Path and query as they were sent.
    var target = ""
    var headers = Headers()
    var body = Body.bytes([])
    /// Whether somebody wrote it by hand, at a shell.
    var isByHand = false
}

/// How this process was started, and so how it is asked and how it answers.
enum Front: Equatable {
    /// CGI/1.1 (RFC 3875).
    case cgi
    /// A JSON event on standard input.
    case event
    /// OpenFaaS' watchdogs: they set no status and no headers, so that the answer is an event's.
    case watchdog
    /// A raw HTTP request on standard input, as an inetd hands over.
    case inetd

    static func detected(by input: inout Input) -> Front {
        for (name, _) in ThisProcess.environment {
            if name == "GATEWAY_INTERFACE" { return .cgi }
            if name == "Http_Method" { return .watchdog }
        }
        do throws(Failure) {
            while try input.pending.isEmpty ? input.fill() : false {}
        } catch {}  // a silent client: the front itself meets the deadline again, and says so
        let first = input.pending.first {
            $0 != UInt8(ascii: " ") && $0 != UInt8(ascii: "\n") && $0 != UInt8(ascii: "\r")
                && $0 != UInt8(ascii: "\t")
        }
        // No method begins so; an array is refused as an event.
        return first == UInt8(ascii: "{") || first == UInt8(ascii: "[") ? .event : .inetd
    }

    /// Reads the request. Where that fails, `request` holds what was read before: an answer needs its header fields.
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

    /// - Returns: whether all of the answer went out, or nobody is there any more to take it.
    func write(_ response: Response, withoutBody: Bool, after input: inout Input) -> Bool {
        switch self {
        case .cgi: writeCGI(response, withoutBody: withoutBody)
        case .event, .watchdog: writeEvent(response)
        case .inetd: writeInetd(response, withoutBody: withoutBody, after: &input)
        }
    }
}

/// Writes to standard output, and to the log why that was not possible.
///
/// - Returns: whether all was written, or nobody is there any more to take it.
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
