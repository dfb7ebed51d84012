import Turnstone

/// The content of one kind of document. Members that it does not know must survive in it.
package protocol Document: Equatable {
    /// The newest format that this program writes and reads.
    static var version: Int64 { get }
    /// What an absent document counts as.
    init()
    /// - Returns: `nil` where a member has a type that the format does not allow.
    init?(_ members: JSONObject)
    var members: JSONObject { get }
}
