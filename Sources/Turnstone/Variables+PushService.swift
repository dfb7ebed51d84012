extension Variables {
    /// Whether anything says who we are to Apple's push service; otherwise pushes become files.
    ///
    /// Half of it is a misconfiguration rather than none.
    package var namesPushService: Bool {
        ["APNS_KEY_PATH", "APNS_KEY", "APNS_KEY_ID", "APNS_TEAM_ID"].contains { text($0) != nil }
    }
}
