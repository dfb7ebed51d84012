import TestSupport

/// A player with a key, ready to register a device.
enum Installed {
    static let key = String(repeating: "0a", count: 32)
    static let token = "8086057500000000000000000000000000000000000000000000000000000001"

    static func player(at site: some FixtureSite) throws {
        try site.install()
        try site.state.write(#"{"version":3}"#, to: "version.json")
        // The names are SHA-256s: of the key, and of the player's number.
        let hash = "2db6b2a7b2fbb5fbf2ea7fcbacb5e1645fb6bf3c0d606ce5b88a23533b32d4b8"
        try site.configure("TURNSTONE_NOW=1795262400000\nMASTER_API_KEY=master")
        try site.state.write(
            #"{"version":1,"revision":1,"owner":"1783478","description":"iPhone","#
                + #""created_at":1763733600000,"last_used":"2026-11-21"}"#,
            to: "keys/2d/\(hash).json")
        try site.state.write(
            #"{"version":1,"revision":1,"devices":[],"ledger":[],"notices":0,"keys":["\#(hash)"]}"#,
            to: "users/eb/1783478.json")
    }

    static func body(_ token: String) -> String {
        #"{"user_id": "1783478", "device_token": "\#(token)"}"#
    }

    static func registration(_ token: String) -> HostRequest {
        HostRequest(
            method: "POST", target: "/register", headers: [("X-API-Key", key)],
            body: Array(body(token).utf8))
    }
}
