import Turnstone

/// A method, a path, and the handler that answers requests for them.
package struct Route {
    let pattern: RoutePattern
    let handler: (Request) throws(Failure) -> Response
    /// Replaces answers with a status of 500 or more. `isByHand` says whether the request was written by
    /// hand. The variables are `nil` if the configuration was not read.
    var failing: ((_ failure: Failure, _ variables: Variables?, _ isByHand: Bool) -> Response)?

    /// - Parameter pattern: the end of the path, such as `/check/{user_id}`.
    package init(
        _ method: String, _ pattern: String,
        _ handler: @escaping (Request) throws(Failure) -> Response
    ) {
        self.pattern = RoutePattern(method, pattern)
        self.handler = handler
    }

    /// Returns the route with its own answers to failures of the installation.
    package func failing(
        _ answer:
            @escaping (_ failure: Failure, _ variables: Variables?, _ isByHand: Bool) -> Response
    ) -> Route {
        var route = self
        route.failing = answer
        return route
    }
}
