import Turnstone

/// Finds the route of a request, for programs and for `front`.
///
/// The longest pattern that matches the end of the path wins: `/check/health` is a player's although
/// `/health` matches too. Among patterns of the same length, the one with more words wins:
/// `/api/notify/count` is not the report of a message. Then the method decides.
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

    /// The form of the answer to a failed request.
    ///
    /// The routes of the path decide; if there are none, all routes do. If they disagree, as those of `front`
    /// do, the form is OneSignal's if one of its routes begins in the path, and otherwise that of the API if
    /// the path contains its prefix, possibly after a host's.
    func errorForm(at target: String) -> ErrorForm {
        let sent: [String]
        do throws(Failure) { sent = try path(ofTarget: target) } catch {
            // The parts that can be read tell whose path it is.
            sent = segments(of: encodedPath(ofTarget: target))
        }
        let found = fitting(sent)
        let deciding = found.isEmpty ? routes : found.map { $0.pattern }
        if let first = deciding.first?.errorForm,
            deciding.allSatisfy({ $0.errorForm == first })
        {
            return first
        }
        if isOneSignals(sent, deciding) { return .oneSignal }
        let hasAPI = deciding.contains { $0.errorForm == .api }
        return hasAPI && sent.contains(apiPrefix) ? .api : .plain
    }

    /// Whether a path begins like one of OneSignal's routes, possibly after a host's prefix or `/api/v1`.
    private func isOneSignals(_ path: [String], _ routes: [RoutePattern]) -> Bool {
        func begins(_ part: String) -> Bool {
            routes.contains { $0.errorForm == .oneSignal && $0.first == part }
        }
        guard let api = path.firstIndex(of: apiPrefix), api + 1 < path.count else {
            return path.contains(where: begins)
        }
        return path[api + 1] == "v1" && path[(api + 2)...].contains(where: begins)
    }

    /// Whether a host may have mounted the programs below this path: no other route begins in it.
    private func isPrefix(_ path: ArraySlice<String>) -> Bool {
        !routes.contains { !$0.isPage && $0.first.map(path.contains) ?? false }
    }

    /// The routes with the longest matching pattern, and the most words in it.
    private func fitting(_ path: [String]) -> [PathRoutes.Element] {
        var found: [PathRoutes.Element] = []
        for index in routes.indices {
            let route = routes[index]
            guard let parameters = route.parameters(in: path),
                !route.isPage || isPrefix(path.dropLast(route.length))
            else { continue }
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
