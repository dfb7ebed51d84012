/// A method, a path, and the program that answers requests for them.
package struct ProgramRoute {
    let pattern: RoutePattern
    let program: String

    package init(_ method: String, _ pattern: String, _ program: String) {
        self.pattern = RoutePattern(method, pattern)
        self.program = program
    }

    /// A file of the pages, which the program `page` serves.
    package init(page path: String) {
        pattern = RoutePattern("GET", path, isPage: true)
        program = "page"
    }
}
