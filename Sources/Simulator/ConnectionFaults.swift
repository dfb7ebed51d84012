import HTTP2Server

/// A server's connections, and the faults that concern a connection rather than a push.
struct ConnectionFaults {
    /// The state of one connection.
    struct Link {
        var key: String?
        var isTrusted = false
        /// Whether the answer under way is the first one to a valid request.
        var earnsTrust = false
        var requests = 0
        /// The last stream that will be processed.
        var last: Int32 = .max
        var newest: Int32 = 0
    }

    /// A GOAWAY that will be sent.
    struct PlannedGoAway {
        let after: Int
        let code: UInt32
        let debugData: [UInt8]
        let isAbrupt: Bool
        /// Whether it is for every connection. Otherwise only the next one with enough requests gets it.
        let isForEach: Bool
    }

    var plannedGoAway: PlannedGoAway?
    var deafness: GatewayDeafness?
    /// The number of requests so far, including those that were not processed.
    private(set) var requests = 0
    var links: [Int: Link] = [:]

    func isDeaf(to connection: Int) -> Bool {
        deafness?.strikes(links[connection]?.requests ?? 0) ?? false
    }

    /// Counts a request, and carries out the faults that are due.
    ///
    /// - Returns: whether the request is to be processed.
    mutating func admit(_ request: ServerRequest, on connection: ServerConnection) -> Bool {
        var link = links[connection.number] ?? Link()
        defer { links[connection.number] = link }
        guard request.stream <= link.last, !isDeaf(to: connection.number) else { return false }
        link.requests += 1
        requests += 1
        if deafness?.strikes(link.requests) == true { return false }
        if let plannedGoAway, link.requests > plannedGoAway.after {
            link.last = link.newest
            connection.goAway(
                last: link.last, code: plannedGoAway.code, debugData: plannedGoAway.debugData,
                closing: plannedGoAway.isAbrupt)
            if !plannedGoAway.isForEach { self.plannedGoAway = nil }
            return false
        }
        // Requests may become complete in any order.
        link.newest = max(link.newest, request.stream)
        return true
    }

    /// Forgets the faults.
    mutating func clear() {
        plannedGoAway = nil
        deafness = nil
    }

    mutating func forgetRequests() { requests = 0 }

    mutating func removeLinks(except open: [ServerConnection]) {
        let numbers = Set(open.map(\.number))
        links = links.filter { numbers.contains($0.key) }
    }
}
