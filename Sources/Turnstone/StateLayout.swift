/// The layout of the state folder, as `../Store/FORMAT.md` describes it.
package enum StateLayout {
    /// The version that this program knows.
    package static let version: Int64 = 3
}
