import Turnstone

/// The content of one kind of document. It must preserve members that it does not know.
package protocol Document: Equatable {
    /// The newest format that this program writes and reads.
    static var version: Int64 { get }
    /// The format that the content needs. A program that knows only older ones must not touch the document.
    var format: Int64 { get }
    /// The content of a document that does not exist.
    init()
    /// - Returns: `nil` if a member has a type that the format does not allow.
    init?(_ members: JSONObject)
    var members: JSONObject { get }
}

extension Document {
    package var format: Int64 { Self.version }
}
