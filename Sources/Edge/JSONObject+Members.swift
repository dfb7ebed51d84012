import Turnstone

extension JSONObject {
    /// A member that must be there, and be a text that is not empty.
    package func text(_ name: String) throws(Failure) -> String {
        guard let value = self[name], value != .null else {
            throw .malformed("\(name) is required")
        }
        guard let text = value.string else { throw .malformed("\(name) must be a text") }
        guard !text.isEmpty else { throw .malformed("\(name) is required") }
        return text
    }

    /// A member that may be missing, null or empty.
    package func optionalText(_ name: String) throws(Failure) -> String? {
        guard let value = self[name], value != .null else { return nil }
        guard let text = value.string else { throw .malformed("\(name) must be a text") }
        return text.isEmpty ? nil : text
    }

    /// The same, of a few bytes at the most.
    package func optionalText(_ name: String, atMost count: Int) throws(Failure) -> String? {
        guard let text = try optionalText(name) else { return nil }
        guard text.utf8.count <= count else {
            throw .malformed("\(name) must be at most \(count) bytes")
        }
        return text
    }

    /// The OGS player whom a member names.
    package func player(_ name: String) throws(Failure) -> PlayerID {
        guard let player = PlayerID(try text(name)) else { throw .malformed(notAPlayer(name)) }
        return player
    }

    /// The device token that a member holds.
    package func deviceToken(_ name: String) throws(Failure) -> DeviceToken {
        try token(text(name), name)
    }

    /// The environment of APNs that `environment` names, where that is not missing, null or empty.
    package func environment() throws(Failure) -> APNsEnvironment? {
        try APNsEnvironment(named: optionalText("environment"))
    }
}

extension APNsEnvironment {
    /// - Returns: `nil` for no text.
    package init?(named text: String?) throws(Failure) {
        guard let text else { return nil }
        guard let environment = APNsEnvironment(rawValue: text) else {
            throw .malformed("environment must be development or production")
        }
        self = environment
    }
}

extension Request {
    /// The OGS player whom the path names.
    package func player(_ name: String) throws(Failure) -> PlayerID {
        guard let player = PlayerID(self[parameter: name]) else {
            throw .malformed(notAPlayer(name))
        }
        return player
    }

    /// The device token that the path names.
    package func deviceToken(_ name: String) throws(Failure) -> DeviceToken {
        try token(self[parameter: name], name)
    }
}

private func token(_ text: String, _ name: String) throws(Failure) -> DeviceToken {
    guard let token = DeviceToken(text) else {
        throw .malformed("\(name) must be 2 to 512 hex digits, an even number of them")
    }
    return token
}

private func notAPlayer(_ name: String) -> String {
    "\(name) must be a player's number on Online-Go.com"
}
