import ArgumentParser

/// A push service that the simulator can stand in for.
enum PushServiceName: String {
    case apns
    case fcm
    case web

    /// Reads a list with commas between the names.
    static func list(_ text: String) throws -> [PushServiceName] {
        let names = text.split(separator: ",", omittingEmptySubsequences: false)
        let services = names.compactMap { PushServiceName(rawValue: String($0)) }
        guard services.count == names.count else {
            throw ValidationError("--services must be any of apns, fcm and web, such as apns,fcm")
        }
        return services
    }
}
