extension Variables {
    /// Whether any credential for Apple's push service is set. Without one, pushes become files.
    ///
    /// A part of them is a misconfiguration, so one is enough here.
    package var namesPushService: Bool {
        ["APNS_KEY_PATH", "APNS_KEY", "APNS_KEY_ID", "APNS_TEAM_ID"].contains { text($0) != nil }
    }

    /// `TURNSTONE_SHARDS`: how many queues each push service has.
    package func shards() throws(Failure) -> Int {
        try number("TURNSTONE_SHARDS", standard: 1, in: 1...64)
    }
}
