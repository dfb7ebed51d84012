import JSON
import TestSupport
import Turnstone

/// Players with an iPhone, an Android phone and a browser.
extension World {
    static func withAllServices() throws -> World {
        try World(["--services", "apns,fcm,web"])
    }

    static let androidToken =
        "dGVzdDpmY20tdG9rZW4:APA91bHPRgkF3JUikC4ENAHEeMrd41Zxv3hVZjC9KtT8OvPVGJ"

    /// Registers one device of each kind for a player.
    ///
    /// - Returns: the browser's id in the simulator.
    @discardableResult
    func registerAllKinds(of player: Int64, _ number: Int = 1) throws -> String {
        try register(token(number), of: player)
        try registerAndroidPhone(number, of: player)
        let browser = try simulator.perform(["do": "web-subscription"])
        try registerDevice(
            ["platform": "web", "subscription": browser["subscription"] ?? .null], of: player)
        return browser["id"]?.string ?? ""
    }

    func registerAndroidPhone(_ number: Int, of player: Int64) throws {
        try registerDevice(
            ["platform": "android", "device_token": .string("\(Self.androidToken)\(number)")],
            of: player)
    }

    /// The token of a player's browser.
    func browserToken(of player: Int64) throws -> String {
        let devices = try document(player)["devices"]?.array?.compactMap(\.object) ?? []
        guard let token = devices.first(where: { $0["platform"] == "web" })?["token"]?.string else {
            throw TestFailure("player \(player) has no browser")
        }
        return token
    }

    private func registerDevice(_ members: JSONObject, of player: Int64) throws {
        var body = members
        body["user_id"] = .string("\(player)")
        let answer = try ask("register", "POST", "/register", by: player, .object(body))
        guard answer.status == 200 else { throw TestFailure("not registered: \(answer.body)") }
    }

    /// How many pushes each service has accepted.
    func accepted() throws -> [String: Int64] {
        var counts: [String: Int64] = [:]
        for service in ["apns", "fcm", "web"] {
            counts[service] = try simulator.report(service)["accepted"]?.integer
        }
        return counts
    }

    /// The accepted pushes of a service, in their order.
    func pushes(of service: String) throws -> [JSONObject] {
        let pushes = try simulator.report(service)["pushes"]?.array ?? []
        return pushes.compactMap(\.object).filter { $0["accepted"] == true }
    }

    /// The outcomes in the receipts of each service, in their order.
    func outcomes(inQueue service: String) -> [String] {
        let files = state.files().filter {
            $0.key.hasPrefix("receipts/") && $0.key.contains(".\(service).")
        }
        return files.sorted { $0.key < $1.key }.flatMap { file in
            file.value.split(separator: UInt8(ascii: "\n")).compactMap {
                (try? JSON.parse(Array($0)).object)?["outcome"]?.string
            }
        }
    }
}
