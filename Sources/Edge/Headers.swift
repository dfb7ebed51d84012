import Turnstone

/// A request's header fields, names in lower case, in the order of arrival.
package struct Headers {
    private(set) var fields: [(name: String, value: String)] = []

    mutating func append(_ name: String, _ value: String) {
        fields.append((lowercased(name), value))
    }

    package subscript(name: String) -> String? {
        fields.first { $0.name == name }?.value
    }

    /// The value of a field that identifies the caller. Refuses a field that occurs twice, because hosts
    /// differ in which one they pass on.
    @export(interface)
    package func credential(_ name: String) throws(Failure) -> String? {
        let values = fields.filter { $0.name == name }
        guard values.count <= 1 else { throw .malformed("the header \(name) may come only once") }
        return values.first?.value
    }
}
