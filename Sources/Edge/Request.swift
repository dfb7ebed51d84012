import JSON
import Turnstone

/// What a caller asks, whichever host brought it.
package struct Request {
    package let method: String
    /// The values of the route's `{names}`, percent-decoded.
    package let parameters: [Parameter]
    /// What comes after the question mark, as it was sent.
    var query = ""
    package let headers: Headers
    package let body: Body
    /// The moment that this request counts as made.
    package let time: Timestamp
    package let variables: Variables
    /// Whether somebody wrote it by hand, at a shell of this machine: such a caller may read the state folder anyway.
    package private(set) var isByHand = false

    /// The same from whoever it is who has written it.
    func fromShell(_ isByHand: Bool) -> Request {
        var request = self
        request.isByHand = isByHand
        return request
    }

    package struct Parameter {
        let name: String
        let value: String
    }

    /// The value of a `{name}` of the route that matched.
    package subscript(parameter name: String) -> String {
        guard let parameter = parameters.first(where: { $0.name == name }) else {
            preconditionFailure("the route has no {\(name)}")
        }
        return parameter.value
    }

    /// The value of a `name=value` of the query; `nil` where there is none.
    ///
    /// - Throws: a refusal of one that comes twice or is badly encoded.
    package func query(_ name: String) throws(Failure) -> String? {
        var found: String?
        for pair in query.utf8.split(separator: UInt8(ascii: "&")) {
            let equals = pair.firstIndex(of: UInt8(ascii: "=")) ?? pair.endIndex
            guard pair[..<equals].elementsEqual(name.utf8) else { continue }
            let spaced = pair[equals...].dropFirst().map { $0 == UInt8(ascii: "+") ? 32 : $0 }
            guard found == nil, let value = percentDecoded(String(decoding: spaced, as: UTF8.self))
            else { throw .malformed("\(name) is malformed or comes twice") }
            found = value
        }
        return found
    }

    /// The caller's API key as it was sent.
    package func apiKey() throws(Failure) -> String {
        guard let key = try headers.credential("x-api-key"), !key.isEmpty else {
            throw .refused(.unauthenticated, "API key required")
        }
        return key
    }

    /// Whether the header fields say that the body is JSON: what no browser sends to another origin without a preflight.
    package var declaresJSON: Bool {
        headers["content-type"].map { isJSONType(essence(ofType: $0)) } ?? false
    }

    /// The members of the body.
    package func fields() throws(Failure) -> Fields {
        guard let members = try body.value(declared: headers).object else {
            throw .malformed("the body must be a JSON object")
        }
        return Fields(members)
    }
}

/// A request's header fields, names in lower case, in the order of arrival.
package struct Headers {
    private(set) var fields: [(name: String, value: String)] = []

    mutating func append(_ name: String, _ value: String) {
        fields.append((lowercased(name), value))
    }

    package subscript(name: String) -> String? {
        fields.first { $0.name == name }?.value
    }

    /// A field that says who is calling. Twice is refused: hosts disagree on which one they show.
    package func credential(_ name: String) throws(Failure) -> String? {
        let values = fields.filter { $0.name == name }
        guard values.count <= 1 else { throw .malformed("the header \(name) may come only once") }
        return values.first?.value
    }
}

/// A request's body: bytes, or JSON that an event has carried unserialised.
package enum Body {
    case bytes([UInt8])
    case value(JSONValue)

    /// Reads the body as JSON, unless its header fields say that it is something else.
    func value(declared headers: Headers) throws(Failure) -> JSONValue {
        if let type = headers["content-type"], !isJSON(type) {
            throw .refused(.unsupportedMediaType, "the body must be application/json")
        }
        if let coding = headers["content-encoding"], lowercased(coding) != "identity" {
            throw .refused(.unsupportedMediaType, "the body must not be encoded")
        }
        switch self {
        case .value(let value): return value
        case .bytes(let bytes): return try parsed(bytes)
        }
    }

    private func parsed(_ bytes: [UInt8]) throws(Failure) -> JSONValue {
        do throws(JSONError) {
            return try JSON.parse(bytes)
        } catch {
            throw .malformed(error.sentence(about: "the body"))
        }
    }

    private func isJSON(_ type: String) -> Bool {
        let essence = essence(ofType: type)
        return essence.isEmpty || isJSONType(essence)
    }
}

/// A media type without its parameters.
private func essence(ofType type: String) -> String {
    let essence = type.utf8.prefix { $0 != UInt8(ascii: ";") }
    return lowercased(trimmed(String(decoding: essence, as: UTF8.self)))
}

private func isJSONType(_ essence: String) -> Bool {
    essence == "application/json" || essence == "text/json"
}

/// The text with ASCII's capitals made small: what HTTP compares without regard to case is ASCII.
func lowercased(_ text: String) -> String {
    let small = text.utf8.map {
        (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains($0) ? $0 | 0x20 : $0
    }
    return String(decoding: small, as: UTF8.self)
}

/// The text without blanks and tabs at either end.
func trimmed(_ text: String) -> String {
    var bytes = Array(text.utf8)[...]
    while let first = bytes.first, first == 32 || first == 9 { bytes.removeFirst() }
    while let last = bytes.last, last == 32 || last == 9 { bytes.removeLast() }
    return String(decoding: bytes, as: UTF8.self)
}
