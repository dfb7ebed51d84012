import Turnstone

/// Finds the route of a request, for a program as well as for `front`, which finds programs.
///
/// The longest pattern that fits the end of the path wins: `/check/health` is a player's, although `/health` fits, too.
/// Of several patterns of that length the method picks one.
struct Router {
    private let routes: [RoutePattern]

    init(_ routes: [RoutePattern]) { self.routes = routes }

    /// The routes at a target's path, which differ in their methods.
    ///
    /// - Throws: malformed if the method or the target is; not found if no pattern fits.
    func routes(for method: String, at target: String) throws(Failure) -> PathRoutes {
        guard !method.isEmpty, method.utf8.allSatisfy(isTokenCharacter) else {
            throw .malformed("the method is malformed")
        }
        let found = fitting(try path(ofTarget: target))
        guard !found.isEmpty else { throw .refused(.notFound, "there is nothing at this path") }
        return PathRoutes(found)
    }

    /// Whether the answer to a request that failed has the form of those under `/api/`.
    ///
    /// The routes at the path say so; if there are none, all routes do. If these disagree, as those of `front`
    /// do, the path must have the API's prefix, perhaps after a host's.
    func isAPI(_ target: String) -> Bool {
        var sent: [String] = []
        do throws(Failure) { sent = try path(ofTarget: target) } catch {}  // no path, so no prefix
        let found = fitting(sent)
        var isAPI: (some: Bool, all: Bool) = (false, true)
        for route in found.isEmpty ? routes : found.map({ $0.pattern }) {
            if route.isAPI { isAPI.some = true } else { isAPI.all = false }
        }
        return isAPI.some && (isAPI.all || sent.contains(apiPrefix))
    }

    /// The routes with the longest pattern that fits.
    private func fitting(_ path: [String]) -> [PathRoutes.Element] {
        var found: [PathRoutes.Element] = []
        for index in routes.indices {
            let route = routes[index]
            guard let parameters = route.parameters(in: path) else { continue }
            let longest = found.first?.pattern.length ?? 0
            guard route.length >= longest else { continue }
            if route.length > longest { found = [] }
            found.append(
                PathRoutes.Element(index: index, pattern: route, parameters: parameters))
        }
        return found
    }
}

/// The routes at one path; there is at least one.
struct PathRoutes {
    struct Element {
        /// Among the router's routes.
        let index: Int
        let pattern: RoutePattern
        let parameters: [Request.Parameter]
    }

    private let elements: [Element]

    fileprivate init(_ elements: [Element]) { self.elements = elements }

    var first: Element { elements[0] }

    /// The methods that the path takes, as `Allow` lists them.
    var methods: String {
        var methods = ""
        for element in elements {
            if !methods.isEmpty { methods += ", " }
            methods += element.pattern.method == "GET" ? "GET, HEAD" : element.pattern.method
        }
        return methods
    }

    /// - Throws: method not allowed, with the path's methods, if no route has this one.
    func route(for method: String) throws(Failure) -> Element {
        for element in elements where element.pattern.takes(method) { return element }
        throw .refused(
            .methodNotAllowed(allowed: methods),
            "this path does not take \(method)")
    }
}
