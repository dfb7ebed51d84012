import Turnstone

/// A document whose members only its users interpret, such as a provider token that all processes share.
package struct Opaque: Document {
    package static var version: Int64 { 1 }

    package var content: JSONObject = [:]

    package init() {}

    package init?(_ members: JSONObject) {
        content = members
    }

    package var members: JSONObject { content }
}
