extension Variables {
    /// Every variable that a program, a script or a test reads. A variable that is not listed here is
    /// reported as a mistake.
    package static let known = [
        "ALLOWED_ORIGINS", "APNS_BASE_URL", "APNS_BUNDLE_ID", "APNS_CA_FILE", "APNS_DEVELOPMENT",
        "APNS_DEVELOPMENT_BASE_URL", "APNS_DEVELOPMENT_MANAGEMENT_BASE_URL", "APNS_ENVIRONMENT",
        "APNS_KEY", "APNS_KEY_ID", "APNS_KEY_PATH", "APNS_MANAGEMENT_BASE_URL", "APNS_TEAM_ID",
        "ACTIVITIES_PER_USER", "CALLER_REQUESTS_PER_MINUTE", "CHECK_INTERVAL_SECONDS",
        "DELIVER_LINGER_SECONDS", "DEVICES_PER_USER", "ENVIRONMENT", "EVENT_TEMPLATES",
        "FCM_BASE_URL", "FCM_CA_FILE", "FCM_CONNECTIONS", "FCM_MESSAGES_PER_MINUTE",
        "FCM_SERVICE_ACCOUNT", "KEYS_PER_USER", "LISTENERS_PER_SESSION",
        "JWT_AUDIENCE", "JWT_COOKIE", "JWT_ISSUER", "JWT_PUBLIC_KEY_PATH", "JWT_REQUIRE_EXP",
        "JWT_SECRET", "JWT_USER_CLAIM", "MASTER_API_KEY", "NEW_TOKENS_PER_HOUR",
        "NOTIFY_LIVE_GAMES", "OGS_BASE_URL",
        "OGS_CA_FILE", "OGS_CONTACT", "OGS_REQUESTS_PER_SECOND", "OGS_WEB_URL", "ONESIGNAL_APP_ID",
        "ONESIGNAL_PREFIX", "SIGNUP", "STATE_DIRECTORY", "TURN_TEXTS",
        "TURNSTONE_CONFIG", "TURNSTONE_DELIVER", "TURNSTONE_LOG", "TURNSTONE_NOW",
        "TURNSTONE_PAGE",
        "TURNSTONE_QUEUE", "TURNSTONE_SERVER_KEY", "TURNSTONE_SHARDS", "TURNSTONE_STATE",
        "TURNSTONE_STORAGE",
        "VAPID_PRIVATE_KEY_PATH", "VAPID_SUBJECT", "WEBPUSH_CA_FILE", "WEBPUSH_HOME",
        "WEBPUSH_HOSTS",
        "WEBPUSH_PRIVATE_HOSTS",
        // Passed between programs, and for building and testing.
        "TURNSTONE_BIN", "TURNSTONE_CHECK_API_KEY", "TURNSTONE_CHECK_TOKEN", "TURNSTONE_CHECK_URL",
        "TURNSTONE_DEADLINE", "TURNSTONE_EMBEDDED", "TURNSTONE_FUZZ", "TURNSTONE_LONG",
        "TURNSTONE_ONLY", "TURNSTONE_PROGRAMS", "TURNSTONE_REPORTS", "TURNSTONE_ROOT",
        "TURNSTONE_TORTURE",
        "TURNSTONE_TORTURE_ROWS",
        "TURNSTONE_VECTORS", "TURNSTONE_VERSION", "TURNSTONE_WRAP",
    ]

    private static let prefixes = [
        "TURNSTONE_", "APNS_", "FCM_", "OGS_", "ONESIGNAL_", "JWT_", "VAPID_", "WEBPUSH_",
    ]

    /// A sentence for each variable that is probably misspelt: it has one of our prefixes or, in the
    /// configuration file, is nearly one of our names. The sentence does not contain its value.
    package var misspellings: [String] {
        var sentences: [String] = []
        for (index, entry) in entries.enumerated() {
            let isOurs = Self.prefixes.contains { entry.name.utf8.starts(with: $0.utf8) }
            let isInFile = index >= environmentCount
            guard isOurs || isInFile, !Self.known.contains(entry.name) else { continue }
            let name = Array(entry.name.utf8)
            let nearest = Self.nearest(to: name)
            guard isOurs || nearest.distance <= 2 else { continue }
            let place = isInFile ? file ?? "the file" : "the environment"
            // Two of three letters after the same prefix may differ between unrelated names.
            let own = name.count - (Self.prefix(of: name)?.utf8.count ?? 0)
            let isNear = nearest.distance <= max(1, own / 3)
            let advice =
                isNear
                ? ": did you mean \(nearest.name)?"
                : ": nothing reads it. Remove it, or see README.md for the names"
            sentences.append("unknown variable \(shown(name)) in \(place)\(advice)")
        }
        return sentences
    }

    /// A sentence about the malformed lines of the configuration file, naming the first ten.
    package var malformedLine: String? {
        guard !malformedLines.isEmpty, let file else { return nil }
        var numbers = malformedLines.prefix(10).map { "\($0)" }.joined(separator: ", ")
        if malformedLines.count > 10 { numbers += " and \(malformedLines.count - 10) more" }
        let word = malformedLines.count == 1 ? "line" : "lines"
        return "\(file), \(word) \(numbers): neither NAME=value nor a comment"
    }

    private static func prefix(of name: [UInt8]) -> String? {
        prefixes.first { name.starts(with: $0.utf8) }
    }

    private static func nearest(to name: [UInt8]) -> (name: String, distance: Int) {
        var nearest = (name: "", distance: Int.max)
        for candidate in known {
            let distance = editDistance(name, Array(candidate.utf8))
            if distance < nearest.distance { nearest = (candidate, distance) }
        }
        return nearest
    }
}

/// A variable's name as a log may show it: it may contain anything but `=`.
private func shown(_ name: [UInt8]) -> String {
    let plain = name.prefix(64).map { (33...126).contains($0) ? $0 : UInt8(ascii: "?") }
    return String(decoding: plain, as: UTF8.self)
}

/// How many bytes must be inserted, removed, replaced or swapped with their neighbour to turn `a` into `b`.
private func editDistance(_ a: [UInt8], _ b: [UInt8]) -> Int {
    var before: [Int] = []
    var last = Array(0...b.count)
    for i in a.indices {
        var row = [i + 1]
        for j in b.indices {
            var least = min(last[j] + (a[i] == b[j] ? 0 : 1), last[j + 1] + 1, row[j] + 1)
            if i > 0, j > 0, a[i] == b[j - 1], a[i - 1] == b[j] {
                least = min(least, before[j - 1] + 1)
            }
            row.append(least)
        }
        before = last
        last = row
    }
    return last[b.count]
}
