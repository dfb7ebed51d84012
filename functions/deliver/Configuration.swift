import Edge
import Turnstone
import Unix

/// The configuration, which may change while a drainer runs: keys are rotated.
struct Configuration {
    private(set) var variables: Variables
    private var stamps: [Files.Stamp?]

    init(_ variables: Variables) {
        self.variables = variables
        stamps = Self.stamps(of: variables)
    }

    /// Whether one of its files has changed, as far as ``look()`` has seen.
    private(set) var isChanging = false

    mutating func look() {
        if Self.stamps(of: variables) != stamps { isChanging = true }
    }

    /// Reads it anew; where that fails it stays as it was.
    mutating func reload() throws(Failure) {
        isChanging = false
        stamps = Self.stamps(of: variables)
        variables = try Environment.variables()
        stamps = Self.stamps(of: variables)
    }

    private static func stamps(of variables: Variables) -> [Files.Stamp?] {
        let key = variables.text("APNS_KEY_PATH")
        let authorities = variables.text("APNS_CA_FILE")
        return [variables.file, key, authorities].map { path in
            // What cannot be looked at has not changed; reading it will say why.
            do throws(SystemError) {
                return try path.flatMap { (path) throws(SystemError) in try Files.stamp(of: path) }
            } catch {
                return nil
            }
        }
    }
}
