/// Programs behind something that starts them, where fixtures can be set up.
package protocol FixtureSite: AnyObject {
    /// The configuration file's folder.
    var folder: TemporaryFolder { get }
    /// The programs' state folder, replaced by ``install(_:)``.
    var state: TemporaryFolder { get set }
}

extension FixtureSite {
    /// Sets a fresh state folder up, and a configuration that names it before the given lines: of two
    /// lines for a variable the last counts.
    package func install(_ configuration: String = "") throws {
        state = TemporaryFolder()
        try configure(configuration)
    }

    package func configure(_ configuration: String) throws {
        try folder.write(
            "TURNSTONE_STATE='\(state.path)'\n\(configuration)\n", to: "turnstone.env")
    }

    package var configurationPath: String { "\(folder.path)/turnstone.env" }
}
