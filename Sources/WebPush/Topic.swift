import Crypto
import Turnstone

/// The header `Topic` of a message: a later one with the same topic replaces it at the push service (RFC 8030
/// section 5.4).
///
/// - Parameter collapseID: any text.
/// - Returns: the text if it has at most 32 characters of base64url, otherwise 32 characters made from it.
func topic(of collapseID: String) -> String {
    let isTopic = collapseID.utf8.allSatisfy { byte in
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"):
            true
        default: false
        }
    }
    if isTopic, (1...32).contains(collapseID.utf8.count) { return collapseID }
    return base64URL(Array(SHA256.hash(Array(collapseID.utf8)).prefix(24)))
}
