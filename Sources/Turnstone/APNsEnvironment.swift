/// An environment of APNs. Each has its own gateway, tokens and channels, and does not know the other's.
package enum APNsEnvironment: String, Sendable {
    case development
    case production

    package var other: APNsEnvironment { self == .development ? .production : .development }
}
