/// The party that must act on a failure.
package enum Disposition: Equatable, Sendable {
    /// The caller must correct the request.
    case refused(Refusal)
    /// The same request may work soon.
    case later(seconds: Int)
    /// Another server gave an unusable answer. Nobody here can fix that.
    case badUpstream
    /// The operator must correct the configuration.
    case misconfigured
    /// The operator must repair the state folder, or we the program.
    case broken
}
