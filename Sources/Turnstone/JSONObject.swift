/// A JSON object's members in the order of the text, which a rewrite keeps.
package struct JSONObject: Equatable, Sendable {
    package struct Member: Equatable, Sendable {
        package let name: String
        package var value: JSONValue

        /// Whether it has this name, compared by bytes: Swift takes an é for an e with an accent, JSON does
        /// not (RFC 8259 section 8.3).
        fileprivate func isNamed(_ name: String) -> Bool {
            self.name == name && self.name.utf8.elementsEqual(name.utf8)
        }
    }

    package private(set) var members: [Member] = []

    package init() {}

    /// Searches the members one by one: documents have only a few, and without hashing no random seed is
    /// needed. Setting `nil` removes the member.
    package subscript(name: String) -> JSONValue? {
        get { members.first { $0.isNamed(name) }?.value }
        set {
            let place = members.firstIndex { $0.isNamed(name) }
            switch (place, newValue) {
            case (let place?, let value?): members[place].value = value
            case (let place?, nil): members.remove(at: place)
            case (nil, let value?): members.append(Member(name: name, value: value))
            case (nil, nil): break
            }
        }
    }

    /// Adds a member whose name is known to be new.
    package mutating func append(_ name: String, _ value: JSONValue) {
        members.append(Member(name: name, value: value))
    }
}

extension JSONObject: ExpressibleByDictionaryLiteral {
    package init(dictionaryLiteral elements: (String, JSONValue)...) {
        members = elements.map { Member(name: $0.0, value: $0.1) }
    }
}
