import Turnstone

extension Fields {
    /// Reads a member that names an OGS player.
    package mutating func player(_ name: String) throws(Failure) -> PlayerID {
        try Edge.player(requiredText(name), path(of: name))
    }

    /// Reads a member that names a user. An empty name counts as missing.
    package mutating func user(_ name: String) throws(Failure) -> UserID? {
        guard let text = try optionalText(name) else { return nil }
        guard let user = UserID(text) else {
            throw wrong(path(of: name), " must be a user's id: \(UserID.form)")
        }
        return user
    }

    /// Reads the APNs environment from the member `environment`, which may be missing or empty.
    package mutating func environment() throws(Failure) -> APNsEnvironment? {
        try Edge.environment(optionalText("environment"))
    }
}

extension Request {
    /// The OGS player that the path names.
    package func player(_ name: String) throws(Failure) -> PlayerID {
        try Edge.player(self[parameter: name], name)
    }

    /// The device's name in the path: its token, as the app sent it, or its id.
    package func deviceName(_ name: String) throws(Failure) -> String {
        let text = self[parameter: name]
        guard !DeviceToken.all(named: text).isEmpty else {
            throw wrong(name, " must be a device's token or its id")
        }
        return text
    }

    /// The APNs environment in the query, if any.
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

private func environment(_ text: String?) throws(Failure) -> APNsEnvironment? {
    guard let text else { return nil }
    guard let environment = APNsEnvironment(rawValue: text) else {
        throw .malformed("environment must be development or production")
    }
    return environment
}
