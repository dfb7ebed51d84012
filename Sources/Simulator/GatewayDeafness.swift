/// A gateway that stops reading.
struct GatewayDeafness {
    /// After how many requests of a connection; `nil` where not even the connection's TLS handshake is read.
    let after: Int?

    func strikes(_ requests: Int) -> Bool { requests > after ?? -1 }
}

extension Gateway {
    func isDeaf(to connection: Int) -> Bool {
        deafness?.strikes(links[connection]?.requests ?? 0) ?? false
    }
}
