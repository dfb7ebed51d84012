import Edge
import Turnstone
import Unix

/// The configuration. It may change while a drainer runs, because keys are rotated.
struct Configuration {
    private(set) var variables: Variables
    private var stamps: [Files.Stamp?]

    init(_ variables: Variables) {
        self.variables = variables
        stamps = Self.stamps(of: variables)
    }

    /// Whether one of its files had changed at the last ``look()``.
    private(set) var isChanging = false

    mutating func look() {
        if Self.stamps(of: variables) != stamps { isChanging = true }
    }

    /// Reads the configuration again. If that fails, it stays as it was.
    mutating func reload() throws(Failure) {
        isChanging = false
        stamps = Self.stamps(of: variables)
        variables = try Environment.variables()
        stamps = Self.stamps(of: variables)
    }

    /// How many queues each service has; `nil` if the configuration says nothing valid.
    var shards: Int? {
        do throws(Failure) { return try variables.shards() } catch { return nil }
    }

    /// Whether each service has another number of queues by now. A configuration that cannot be read changes
    /// nothing.
    mutating func hasOtherShards(than known: Int) -> Bool {
        look()
        if isChanging { do throws(Failure) { try reload() } catch {} }
        return shards.map { $0 != known } ?? false
    }

    private static func stamps(of variables: Variables) -> [Files.Stamp?] {
        let files = [
            "APNS_KEY_PATH", "APNS_CA_FILE", "FCM_SERVICE_ACCOUNT", "FCM_CA_FILE",
            "VAPID_PRIVATE_KEY_PATH", "WEBPUSH_CA_FILE",
        ]
        return ([variables.file] + files.map { variables.text($0) }).map { path in
            // A file that cannot be examined has no stamp. Reading it reports why.
            do throws(SystemError) {
                return try path.flatMap { (path) throws(SystemError) in try Files.stamp(of: path) }
            } catch {
                return nil
            }
        }
    }
}
