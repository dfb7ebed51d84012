import Turnstone

/// A UUID that always comes out the same for the same name (RFC 9562 section 5.8, version 8).
///
/// - Returns: lower-case canonical form, as `apns-id` wants it.
package func stableUUID(_ name: String) -> String {
    var bytes = Array(SHA256.hash(Array(name.utf8)).prefix(16))
    bytes[6] = bytes[6] & 0x0f | 0x80
    bytes[8] = bytes[8] & 0x3f | 0x80
    let groups = [bytes[..<4], bytes[4..<6], bytes[6..<8], bytes[8..<10], bytes[10...]]
    return groups.map { hex($0) }.joined(separator: "-")
}
