/// The hosts that Web Push messages may go to. An endpoint comes from a client, which could otherwise name
/// any server for us to call.
package struct PushHosts: Equatable, Sendable {
    /// The push services of the browsers: Chrome and its relatives (two names of Google's service), Firefox,
    /// Safari, Edge.
    package static let known = [
        "fcm.googleapis.com", "jmt17.google.com", "updates.push.services.mozilla.com",
        "*.push.services.mozilla.com", "web.push.apple.com", "*.push.apple.com",
        "*.notify.windows.com",
    ]

    /// Those of ``known``, then those of `WEBPUSH_HOSTS`.
    private let named: [HostAndPort]
    private let privateHosts: [HostAndPort]

    package init(named: [HostAndPort] = [], privateHosts: [HostAndPort] = []) {
        self.named = Self.known.compactMap { HostAndPort($0) } + named
        self.privateHosts = privateHosts
    }

    /// Reads `WEBPUSH_HOSTS` and `WEBPUSH_PRIVATE_HOSTS`.
    package init(_ variables: Variables) throws(Failure) {
        self.init(
            named: try Self.list("WEBPUSH_HOSTS", variables),
            privateHosts: try Self.list("WEBPUSH_PRIVATE_HOSTS", variables))
    }

    /// Whether the endpoint's host is known or named by a variable.
    package func allow(_ endpoint: PushEndpoint) -> Bool {
        named.contains { $0.matches(endpoint) } || mayBePrivate(endpoint)
    }

    /// Whether the endpoint's host is known or named by its whole name, not only by a pattern.
    package func nameExactly(_ endpoint: PushEndpoint) -> Bool {
        (named + privateHosts).contains { !$0.isPattern && $0.matches(endpoint) }
    }

    /// Whether a server at the endpoint's host may be a user's own: only a pattern of a variable allows it.
    package func mayBeUsersOwn(_ endpoint: PushEndpoint) -> Bool {
        let isKnown = named.prefix(Self.known.count).contains { $0.matches(endpoint) }
        return !isKnown && !nameExactly(endpoint)
    }

    /// Whether the endpoint's host may have a private or loopback address.
    package func mayBePrivate(_ endpoint: PushEndpoint) -> Bool {
        privateHosts.contains { $0.matches(endpoint) }
    }

    /// Refuses an endpoint at another host, when a browser is registered.
    package func check(_ endpoint: PushEndpoint) throws(Failure) {
        guard allow(endpoint) else {
            throw .unacceptable(
                "\(endpoint.origin) is not a known push service; the operator can name its host in WEBPUSH_HOSTS"
            )
        }
    }

    private static func trimmed(_ text: Substring.UTF8View) -> [UInt8] {
        let isBlank = { (byte: UInt8) in byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t") }
        return Array(text.drop(while: isBlank).reversed().drop(while: isBlank).reversed())
    }

    private static func list(
        _ name: String, _ variables: Variables
    ) throws(Failure) -> [HostAndPort] {
        guard let text = variables.text(name) else { return [] }
        var hosts: [HostAndPort] = []
        for part in text.utf8.split(separator: UInt8(ascii: ",")) {
            let entry = trimmed(part)
            guard !entry.isEmpty else { continue }
            guard let host = HostAndPort(String(decoding: entry, as: UTF8.self)) else {
                throw variables.wrong(
                    name,
                    "entry \(hosts.count + 1) must be a host such as push.example.org, push.example.org:8443 or *.example.org"
                )
            }
            hosts.append(host)
        }
        return hosts
    }
}
