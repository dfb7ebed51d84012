import Edge
import Store
import Turnstone

extension State {
    /// The calling user of a route that apps call with a JSON Web Token and players with an API key. The
    /// request is counted.
    ///
    /// - Throws: unauthenticated if neither is valid; too many.
    package func caller(of request: Request) throws(Failure) -> UserID {
        guard request.headers["x-api-key"] != nil else {
            let user = try request.user()
            try admit(user)
            return user
        }
        return UserID(try keys.owner(of: request.apiKey(), at: request.time))
    }
}
