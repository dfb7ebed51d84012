import Turnstone

/// A route, and the program that answers it.
package struct ProgramRoute {
    let method: String
    let pattern: String
    let program: String

    package init(_ method: String, _ pattern: String, _ program: String) {
        self.method = method
        self.pattern = pattern
        self.program = program
    }
}

extension [ProgramRoute] {
    /// The program of a path. Where the ends of two patterns fit, the longer one is meant: `/check/health`
    /// is a player's, whatever the program says to that.
    func program(for method: String, _ path: [String]) throws(Failure) -> String {
        guard !method.isEmpty, method.utf8.allSatisfy(isTokenCharacter) else {
            throw .malformed("the method is malformed")
        }
        var fitting: [ProgramRoute] = []
        var longest = 0
        for route in self where parameters(of: route.pattern, in: path) != nil {
            let length = segments(of: route.pattern).count
            if length > longest { fitting = [] }
            longest = Swift.max(length, longest)
            if length == longest { fitting.append(route) }
        }
        guard !fitting.isEmpty else { throw .refused(.notFound, "there is nothing at this path") }
        // The path's program answers a browser that asks what its page may send.
        if method == "OPTIONS" { return fitting[0].program }
        let wanted = method == "HEAD" ? "GET" : method
        if let route = fitting.first(where: { $0.method == wanted }) { return route.program }
        let allowed = fitting.flatMap { $0.method == "GET" ? ["GET", "HEAD"] : [$0.method] }
        throw .refused(
            .methodNotAllowed(allowed: allowed.joined(separator: ", ")),
            "this path does not take \(method)")
    }
}
