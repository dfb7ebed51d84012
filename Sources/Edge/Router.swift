import Turnstone

/// Finds the route of a request, for programs and for `front`.
///
/// The longest pattern that matches the end of the path wins: `/check/health` is a player's although
/// `/health` matches too. Among patterns of the same length, the one with more words wins: `/api/notify/count`
/// is no message's. Then the method decides.
struct Router {
    private let routes: [RoutePattern]

    init(_ routes: [RoutePattern]) { self.routes = routes }

    /// The routes of a target's path, one for each method.
    ///
    /// - Throws: malformed if the method or the target is; not found if no pattern matches.
    func routes(for method: String, at target: String) throws(Failure) -> PathRoutes {
        guard !method.isEmpty else {
            throw .malformed("the request has no method; a CGI host must set REQUEST_METHOD")
        }
        guard method.utf8.allSatisfy(isTokenCharacter) else {
            throw .malformed("the method is malformed: it must be a word such as GET")
        }
        let found = fitting(try path(ofTarget: target))
        guard !found.isEmpty else { throw .refused(.notFound, "no route matches this path") }
        return PathRoutes(found)
    }

    /// Whether an error's answer has the form of those under `/api/`.
    ///
    /// The routes of the path decide; if there are none, all routes do. If they disagree, as those of `front`
    /// do, the path must contain the API's prefix, possibly after a host's.
    func isAPI(_ target: String) -> Bool {
        var sent: [String] = []
        do throws(Failure) { sent = try path(ofTarget: target) } catch {}  // no path: no prefix
        let found = fitting(sent)
        var isAPI: (some: Bool, all: Bool) = (false, true)
        for route in found.isEmpty ? routes : found.map({ $0.pattern }) {
            if route.isAPI { isAPI.some = true } else { isAPI.all = false }
        }
        return isAPI.some && (isAPI.all || sent.contains(apiPrefix))
    }

    /// The routes with the longest matching pattern, and the most words in it.
    private func fitting(_ path: [String]) -> [PathRoutes.Element] {
        var found: [PathRoutes.Element] = []
        for index in routes.indices {
            let route = routes[index]
            guard let parameters = route.parameters(in: path) else { continue }
            if let best = found.first?.pattern {
                let rank = (route.length, route.words)
                let highest = (best.length, best.words)
                guard rank >= highest else { continue }
                if rank > highest { found = [] }
            }
            found.append(
                PathRoutes.Element(index: index, pattern: route, parameters: parameters))
        }
        return found
    }
}
