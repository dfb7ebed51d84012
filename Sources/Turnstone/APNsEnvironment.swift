/// The APNs environment that has a token. Neither environment knows the other's tokens.
package enum APNsEnvironment: String, Sendable {
    case development
    case production

    package var other: APNsEnvironment { self == .development ? .production : .development }
}
