import Turnstone

/// A caller's request, in the same form for every host.
package struct Request {
    package let method: String
    /// The values of the route's `{names}`, percent-decoded.
    package let parameters: [Parameter]
    /// The part after the question mark, as sent.
    var query = ""
    package let headers: Headers
    package let body: Body
    /// The time of the request.
    package let time: Timestamp
    package let variables: Variables
    /// Whether it was written by hand at a shell of this machine. Such a caller can read the state folder
    /// anyway.
    package private(set) var isByHand = false

    /// The caller's network address, as the host states it; `nil` if it does not. Behind a proxy it is the
    /// proxy's, unless the web server is told otherwise.
    package private(set) var address: String?

    /// A copy with what the host says of the caller.
    func from(_ raw: RawRequest) -> Request {
        var request = self
        request.isByHand = raw.isByHand
        request.address = raw.address
        return request
    }

    package struct Parameter {
        let name: String
        let value: String
    }

    /// The value of a `{name}` in the route's pattern.
    package subscript(parameter name: String) -> String {
        guard let parameter = parameters.first(where: { $0.name == name }) else {
            preconditionFailure("the route has no {\(name)}")
        }
        return parameter.value
    }

    /// The value of a query parameter; `nil` if it is missing.
    ///
    /// - Throws: malformed if it occurs twice or is badly encoded.
    @export(interface)
    package func query(_ name: String) throws(Failure) -> String? {
        var found: String?
        for pair in query.utf8.split(separator: UInt8(ascii: "&")) {
            let equals = pair.firstIndex(of: UInt8(ascii: "=")) ?? pair.endIndex
            guard pair[..<equals].elementsEqual(name.utf8) else { continue }
            let spaced = pair[equals...].dropFirst().map { $0 == UInt8(ascii: "+") ? 32 : $0 }
            guard found == nil, let value = percentDecoded(String(decoding: spaced, as: UTF8.self))
            else { throw .malformed("the query parameter \(name) is malformed or comes twice") }
            found = value
        }
        return found
    }

    /// A whole number in the query, without zeros before it; `nil` if it is missing.
    package func number(_ name: String, in range: ClosedRange<Int>) throws(Failure) -> Int? {
        guard let text = try query(name) else { return nil }
        guard let number = Int(text), range.contains(number), text == String(number) else {
            throw .malformed(
                "\(name) must be a whole number from \(range.lowerBound) to \(range.upperBound)")
        }
        return number
    }

    /// The caller's API key as sent.
    package func apiKey() throws(Failure) -> String {
        guard let key = try headers.credential("x-api-key"), !key.isEmpty else {
            throw .refused(.unauthenticated, "API key required: send it in the header X-API-Key")
        }
        return key
    }

    /// Whether the header fields declare a JSON body, which no browser sends to another origin without a
    /// preflight.
    package var declaresJSON: Bool {
        headers["content-type"].map { isJSONType(essence(ofType: $0)) } ?? false
    }

    /// The members of the body's JSON object.
    @export(interface)
    package func fields() throws(Failure) -> Fields {
        guard let members = try body.value(declared: headers).object else {
            throw .malformed("the body must be a JSON object")
        }
        return Fields(members)
    }
}

/// The text without spaces and tabs at either end.
func trimmed(_ text: String) -> String {
    var bytes = Array(text.utf8)[...]
    while let first = bytes.first, first == 32 || first == 9 { bytes.removeFirst() }
    while let last = bytes.last, last == 32 || last == 9 { bytes.removeLast() }
    return String(decoding: bytes, as: UTF8.self)
}
