import Turnstone

/// The routes of one path, at least one.
struct PathRoutes {
    struct Element {
        /// The index among the router's routes.
        let index: Int
        let pattern: RoutePattern
        let parameters: [Request.Parameter]
    }

    private let elements: [Element]

    init(_ elements: [Element]) { self.elements = elements }

    var first: Element { elements[0] }

    /// The path's methods, as `Allow` lists them.
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
        for element in elements where element.pattern.accepts(method) { return element }
        throw .refused(
            .methodNotAllowed(allowed: methods),
            "this path does not accept \(method); see the header Allow")
    }
}
