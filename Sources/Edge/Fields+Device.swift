import Turnstone

extension Fields {
    /// Reads the member `platform`; `nil` if it is missing or empty.
    package mutating func platform() throws(Failure) -> Platform? {
        guard let name = try optionalText("platform") else { return nil }
        guard let platform = Platform(rawValue: name) else {
            throw wrong(path(of: "platform"), " must be \(Platform.names)")
        }
        return platform
    }

    /// Reads what identifies a device that is to be registered: a token, or a browser's `subscription`.
    ///
    /// - Parameters:
    ///   - name: the member with the token.
    ///   - variables: the configuration, which may name more push services that a browser may use.
    @export(interface)
    package mutating func newDevice(
        on platform: Platform, token name: String, _ variables: Variables
    ) throws(Failure) -> DeviceToken {
        guard platform == .web else {
            guard take("subscription") == nil else {
                throw .malformed("subscription requires platform web")
            }
            return try token(requiredText(name), name, on: platform)
        }
        guard take(name) == nil else {
            throw .malformed("platform web requires subscription instead of \(name)")
        }
        guard let subscription = take("subscription") else {
            throw .malformed("subscription is required: what PushSubscription.toJSON() gives")
        }
        let read = try PushSubscription(subscription)
        try PushHosts(variables).check(read.endpoint)
        return DeviceToken(read)
    }

    /// Reads the APNs environment of a device to register, from the member `environment`, which may be
    /// missing or empty.
    @export(interface)
    package mutating func environment(
        on platform: Platform
    ) throws(Failure) -> APNsEnvironment? {
        let environment = try environment()
        guard environment == nil || platform == .ios else {
            throw .malformed("environment requires platform ios")
        }
        return environment
    }

    /// Reads what names a device that is registered already: its token, a browser's `subscription`, or the
    /// `id` that the registration answered.
    ///
    /// - Parameter name: the member with the token.
    /// - Returns: the text of the token, or the id.
    @export(interface)
    package mutating func knownDevice(token name: String) throws(Failure) -> String {
        let text = try optionalText(name)
        let id = try optionalText("id")
        let subscription = take("subscription")
        switch (text, id, subscription) {
        case (let text?, nil, nil): return text
        case (nil, let id?, nil): return id
        case (nil, nil, let subscription?):
            return DeviceToken(try PushSubscription(subscription)).text
        case (nil, nil, nil): throw wrong(path(of: name), ", subscription or id is required")
        default: throw .malformed("use only one of \(name), subscription and id")
        }
    }
}

/// Makes a token of a text.
///
/// - Parameter name: the member with the text.
private func token(
    _ text: String, _ name: String, on platform: Platform
) throws(Failure) -> DeviceToken {
    guard let token = DeviceToken(text, on: platform) else {
        throw wrong(name, " must be \(DeviceToken.form(on: platform))")
    }
    // FCM's tokens never look like this; UnifiedPush's addresses do.
    guard platform == .ios || !text.utf8.starts(with: "https://".utf8) else {
        throw .malformed("\(name) must be a token of FCM; an endpoint requires platform web")
    }
    return token
}
