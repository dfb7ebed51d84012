import JSON
import Turnstone

/// A request's body: bytes, or JSON that was part of an event.
package enum Body {
    case bytes([UInt8])
    case value(JSONValue)

    /// Parses the body as JSON. Refuses it if its header fields declare something else.
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
        guard bytes.contains(where: { $0 > 0x20 }) else {
            throw .malformed("the body is empty: send a JSON object")
        }
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
