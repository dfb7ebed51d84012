import Turnstone

extension Fields {
    /// The OGS player named by a member.
    package mutating func player(_ name: String) throws(Failure) -> PlayerID {
        try Edge.player(requiredText(name), name)
    }

    /// The user named by a member; an empty name counts as missing.
    package mutating func user(_ name: String) throws(Failure) -> UserID? {
        guard let text = try optionalText(name) else { return nil }
        guard let user = UserID(text) else { throw wrong(name, " is no user's id") }
        return user
    }

    /// The device token in a member.
    package mutating func deviceToken(_ name: String) throws(Failure) -> DeviceToken {
        try token(requiredText(name), name)
    }

    /// The environment of APNs in the member `environment`, which may be missing or empty.
    package mutating func environment() throws(Failure) -> APNsEnvironment? {
        try Edge.environment(optionalText("environment"))
    }
}

extension Request {
    /// The OGS player named by the path.
    package func player(_ name: String) throws(Failure) -> PlayerID {
        try Edge.player(self[parameter: name], name)
    }

    /// The device token in the path.
    package func deviceToken(_ name: String) throws(Failure) -> DeviceToken {
        try token(self[parameter: name], name)
    }

    /// The environment of APNs in the query, if there is one.
    package func environment() throws(Failure) -> APNsEnvironment? {
        try Edge.environment(query("environment"))
    }
}

private func player(_ text: String, _ name: String) throws(Failure) -> PlayerID {
    guard let player = PlayerID(text) else {
        throw wrong(name, " must be a player's number on Online-Go.com")
    }
    return player
}

private func token(_ text: String, _ name: String) throws(Failure) -> DeviceToken {
    guard let token = DeviceToken(text) else {
        throw wrong(name, " must be 2 to 512 hex digits, an even number of them")
    }
    return token
}

private func environment(_ text: String?) throws(Failure) -> APNsEnvironment? {
    guard let text else { return nil }
    guard let environment = APNsEnvironment(rawValue: text) else {
        throw .malformed("environment must be development or production")
    }
    return environment
}
