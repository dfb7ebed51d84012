/// A gateway that stops reading.
struct GatewayDeafness {
    /// The number of requests of a connection that are read first; `nil` if not even its TLS handshake is
    /// read.
    let after: Int?

    func strikes(_ requests: Int) -> Bool { requests > after ?? -1 }
}
