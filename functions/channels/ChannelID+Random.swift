import Turnstone
import Unix

extension ChannelID {
    /// Makes an id in the form of those that APNs gives.
    static func random() throws(Failure) -> ChannelID {
        guard let id = ChannelID(base64(try randomBytes(16))) else {
            preconditionFailure("16 bytes in base64 are a channel's id")
        }
        return id
    }
}
