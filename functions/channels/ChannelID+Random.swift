import Crypto
import Turnstone
import Unix

extension ChannelID {
    /// An id of ours, as APNs would have given one.
    static func random() throws(Failure) -> ChannelID {
        guard let id = ChannelID(base64(try randomBytes(16))) else {
            preconditionFailure("base64 is what a channel's id is made of")
        }
        return id
    }
}
