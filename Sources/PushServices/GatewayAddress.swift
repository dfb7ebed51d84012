import Turnstone
import Unix

/// The address of a push service's server: a host and a port, reached by HTTPS.
package struct GatewayAddress: Equatable, Sendable {
    package let host: String
    package let port: UInt16

    package init(host: String, port: UInt16) {
        self.host = host
        self.port = port
    }

    /// The value of `:authority`.
    package var authority: String { authorityText(host, port) }

    /// The address and why there is no connection to it, for an operator.
    ///
    /// - Parameter authorities: the variable that names the certificates to trust.
    package func fault(_ reason: String, authorities: String = "APNS_CA_FILE") -> String {
        let words = reason.utf8.split(separator: UInt8(ascii: " "))
        let isDistrusted = words.contains {
            $0.elementsEqual("certificate".utf8) || $0.elementsEqual("mismatch".utf8)
        }
        return "\(authority): \(Errno.reason(named: reason))"
            + (isDistrusted ? "; check \(authorities) and this machine's clock" : "")
    }

    /// The address in a variable; `nil` if it is unset.
    static func named(
        _ name: String, _ variables: Variables
    ) throws(Failure) -> GatewayAddress? {
        guard let text = variables.text(name) else { return nil }
        guard let address = GatewayAddress(text) else {
            throw variables.wrong(name, "must be https://HOST or https://HOST:PORT")
        }
        return address
    }
}

extension GatewayAddress {
    /// Reads an address such as `https://127.0.0.1:2197` or `https://[::1]:2197`.
    @export(interface)
    package init?(_ url: String) {
        let scheme = "https://"
        guard url.hasPrefix(scheme) else { return nil }
        var rest = Array(url.utf8.dropFirst(scheme.utf8.count))
        if rest.last == UInt8(ascii: "/") { rest.removeLast() }
        guard let place = HostAndPort(String(decoding: rest, as: UTF8.self)), !place.isPattern
        else { return nil }
        self.init(host: place.host, port: place.port ?? 443)
    }
}
