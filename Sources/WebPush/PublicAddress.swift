/// Whether an address belongs to a host on the Internet. Everything else (this machine, its networks,
/// multicast, addresses for documentation) is for a client's endpoint out of bounds.
///
/// IANA: *IPv4 Special-Purpose Address Registry* and *IPv6 Special-Purpose Address Registry*.
///
/// - Parameter bytes: 4 bytes of version 4 or 16 of version 6, in network order.
func isPublicAddress(_ bytes: [UInt8]) -> Bool {
    switch bytes.count {
    case 4: !specialVersion4.contains { $0.contains(bytes) }
    // NAT64 (RFC 6052) stands for an address of version 4.
    case 16 where nat64.contains(bytes): isPublicAddress(Array(bytes.suffix(4)))
    case 16:
        globalUnicast.contains(bytes) && !specialVersion6.contains { $0.contains(bytes) }
    default: false
    }
}

/// The addresses that begin with certain bits.
private struct Network {
    let bytes: [UInt8]
    let length: Int

    init(_ bytes: [UInt8], _ length: Int) {
        self.bytes = bytes
        self.length = length
    }

    func contains(_ address: [UInt8]) -> Bool {
        for (place, byte) in bytes.enumerated() {
            let bits = min(8, length - 8 * place)
            guard bits > 0 else { break }
            let mask = UInt8(truncatingIfNeeded: 0xff00 >> bits)
            guard place < address.count, address[place] & mask == byte & mask else { return false }
        }
        return true
    }
}

private let specialVersion4 = [
    Network([0], 8),  // this network
    Network([10], 8), Network([172, 16], 12), Network([192, 168], 16),  // private
    Network([100, 64], 10),  // shared with a provider's customers
    Network([127], 8),  // loopback
    Network([169, 254], 16),  // link-local; clouds serve their credentials there
    Network([192, 0, 0], 24), Network([192, 88, 99], 24),  // protocols
    Network([192, 0, 2], 24), Network([198, 51, 100], 24), Network([203, 0, 113], 24),  // documents
    Network([198, 18], 15),  // measurements
    Network([224], 4), Network([240], 4),  // multicast, reserved and broadcast
]

/// Addresses outside it are special, such as ::1, ::ffff:127.0.0.1, fc00::/7, fe80::/10 and ff00::/8.
private let globalUnicast = Network([0x20], 3)

private let nat64 = Network([0, 0x64, 0xff, 0x9b, 0, 0, 0, 0, 0, 0, 0, 0], 96)

private let specialVersion6 = [
    Network([0x20, 1, 0], 23),  // protocols, among them Teredo
    Network([0x20, 1, 0x0d, 0xb8], 32), Network([0x3f, 0xff, 0], 20),  // documents
    Network([0x20, 2], 16),  // 6to4, which may stand for a private address
]
