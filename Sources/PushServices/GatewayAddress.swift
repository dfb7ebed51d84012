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
    package var authority: String {
        let name = host.utf8.contains(UInt8(ascii: ":")) ? "[\(host)]" : host
        return port == 443 ? name : "\(name):\(port)"
    }

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
    package init?(_ url: String) {
        let scheme = "https://"
        guard url.hasPrefix(scheme) else { return nil }
        var rest = Array(url.utf8.dropFirst(scheme.utf8.count))
        if rest.last == UInt8(ascii: "/") { rest.removeLast() }
        var name = rest[...]
        var port: ArraySlice<UInt8> = []
        if rest.first == UInt8(ascii: "[") {
            guard let end = rest.firstIndex(of: UInt8(ascii: "]")) else { return nil }
            name = rest[1..<end]
            port = rest[(end + 1)...]
        } else if let colon = rest.firstIndex(of: UInt8(ascii: ":")) {
            name = rest[..<colon]
            port = rest[colon...]
        }
        let isName = name.allSatisfy {
            isLetterOrDigit($0) || [UInt8(ascii: "."), UInt8(ascii: "-")].contains($0)
                || rest.first == UInt8(ascii: "[") && $0 == UInt8(ascii: ":")
        }
        guard !name.isEmpty, isName, let number = Self.port(port) else { return nil }
        self.init(host: String(decoding: name, as: UTF8.self), port: number)
    }

    /// - Parameter text: empty, or a colon and a number.
    private static func port(_ text: ArraySlice<UInt8>) -> UInt16? {
        if text.isEmpty { return 443 }
        let digits = text.dropFirst()
        guard text.first == UInt8(ascii: ":"), digits.allSatisfy({ (48...57).contains($0) }),
            let number = UInt16(String(decoding: digits, as: UTF8.self)), number > 0
        else { return nil }
        return number
    }
}
