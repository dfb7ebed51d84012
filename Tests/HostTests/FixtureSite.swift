import TestSupport

/// Programs behind something that starts them, where fixtures can be set up.
protocol FixtureSite: AnyObject {
    /// What holds the configuration file.
    var folder: TemporaryFolder { get }
    /// What the programs find: replaced by ``install(_:)``.
    var state: TemporaryFolder { get set }
}

extension FixtureSite {
    /// Sets a fresh state folder up, and a configuration that names it after the given lines: of two
    /// lines for a variable the first counts.
    func install(_ configuration: String = "") throws {
        state = TemporaryFolder()
        try configure(configuration)
    }

    func configure(_ configuration: String) throws {
        try folder.write(
            "\(configuration)\nTURNSTONE_STATE='\(state.path)'\n", to: "turnstone.env")
    }

    var configurationPath: String { "\(folder.path)/turnstone.env" }
}
