import Turnstone

/// A method and a path that a program answers.
package struct Route {
    let method: String
    let pattern: String
    let handler: (Request) throws(Failure) -> Response
    /// Answers in the place of a status of 500 or more; it is told whether the request was written by hand.
    var failing: ((_ failure: Failure, _ isByHand: Bool) -> Response)?

    /// - Parameter pattern: such as `/check/{user_id}`; it is matched against the end of the path,
    ///   since a host may mount the program under any prefix.
    package init(
        _ method: String, _ pattern: String,
        _ handler: @escaping (Request) throws(Failure) -> Response
    ) {
        self.method = method
        self.pattern = pattern
        self.handler = handler
    }

    /// The same with answers of its own where the installation is at fault.
    package func failing(
        _ answer: @escaping (_ failure: Failure, _ isByHand: Bool) -> Response
    ) -> Route {
        var route = self
        route.failing = answer
        return route
    }

    /// Whether errors have the shape that the documents under `/api/` show.
    var isAPI: Bool { pattern.utf8.starts(with: "/api/".utf8) }

    /// The pattern's values in the path, or `nil` where the path is another one.
    func parameters(in path: [String]) -> [Request.Parameter]? {
        Edge.parameters(of: pattern, in: path)
    }
}

/// The pattern's values in the path's end, or `nil` where that is another one.
func parameters(of pattern: String, in path: [String]) -> [Request.Parameter]? {
    let parts = segments(of: pattern)
    guard path.count >= parts.count else { return nil }
    var found: [Request.Parameter] = []
    for (part, segment) in zip(parts, path.suffix(parts.count)) {
        if part.utf8.first == UInt8(ascii: "{") {
            guard !segment.isEmpty else { return nil }
            let name = String(decoding: part.utf8.dropFirst().dropLast(), as: UTF8.self)
            found.append(Request.Parameter(name: name, value: segment))
        } else if part != segment {
            return nil
        }
    }
    return found
}

/// The decoded path of a request target (RFC 9112 section 3.2), segment by segment.
///
/// - Throws: a refusal of what could be read in two ways: bad percent-encoding, NUL, dot segments,
///   bytes that are not UTF-8. An encoded slash stays inside its segment.
func path(ofTarget target: String) throws(Failure) -> [String] {
    var bytes = Array(target.utf8)[...]
    if let scheme = schemeEnd(bytes) {
        bytes = bytes[scheme...].drop { $0 != UInt8(ascii: "/") }
    }
    let end = bytes.firstIndex { $0 == UInt8(ascii: "?") || $0 == UInt8(ascii: "#") }
    let raw = String(decoding: bytes[..<(end ?? bytes.endIndex)], as: UTF8.self)
    guard raw.utf8.first == UInt8(ascii: "/") else { throw badPath }
    var path: [String] = []
    for segment in segments(of: raw) {
        guard let decoded = percentDecoded(segment) else { throw badPath }
        guard decoded != ".", decoded != ".." else { throw badPath }
        path.append(decoded)
    }
    return path
}

/// What comes after a target's question mark.
func query(ofTarget target: String) -> String {
    let rest = target.utf8.drop { $0 != UInt8(ascii: "?") }.dropFirst()
    return String(decoding: Array(rest.prefix { $0 != UInt8(ascii: "#") }), as: UTF8.self)
}

private let badPath = Failure.malformed("the path is malformed")

/// Where an absolute-form target's authority begins.
private func schemeEnd(_ bytes: ArraySlice<UInt8>) -> Int? {
    for scheme in ["http://", "https://"] where bytes.starts(with: scheme.utf8) {
        return scheme.utf8.count
    }
    return nil
}

func segments(of path: String) -> [String] {
    path.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false).dropFirst()
        .map { String(decoding: $0, as: UTF8.self) }
}
