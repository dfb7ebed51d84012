/// Which updates of a channel APNs stores for devices that are offline or join later.
package enum StoragePolicy: String, Sendable {
    case nothing = "none"
    case newest

    /// The number by which APNs knows the policy.
    package var number: Int64 { self == .newest ? 1 : 0 }

    package init?(number: Int64) {
        switch number {
        case 0: self = .nothing
        case 1: self = .newest
        default: return nil
        }
    }

    /// The longest time for which APNs stores an update.
    package static let longest = Interval.hours(8)
}
