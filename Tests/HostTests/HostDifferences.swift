/// Requests that some hosts answer otherwise than the rest, with their statuses. Each host's README says so,
/// and why; nothing else may differ.
enum HostDifferences {
    static func status(of request: String, at host: Host, elsewhere status: Int) -> Int {
        table[request]?[host] ?? status
    }

    private static let table: [String: [Host: Int]] = [
        "a credential twice": [.lighttpd: 401, .apache: 401],
        "a key beside the key": [.lighttpd: 400],
        "a length and chunks": [.apache: 200],
        "a method of our own": [.lighttpd: 501],
        "a way up": [.lighttpd: 404],
        "an encoded NUL": [.apache: 404],
    ]
}
