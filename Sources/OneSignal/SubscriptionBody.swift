import Edge
import Profiles
import Store
import Turnstone

/// A subscription as OneSignal's clients send it: one of a user's devices.
package struct SubscriptionBody {
    /// `nil` if the request does not say.
    let platform: Platform?
    let token: DeviceToken?
    private let environment: APNsEnvironment?
    private let isEnabled: Bool?
    private let appVersion: String?
    private let model: String?
    private let system: String?

    /// Reads the members of a request's `subscription`.
    ///
    /// - Parameter known: the device that the request changes; `nil` if it makes a subscription.
    @export(interface)
    package init(
        _ json: JSONValue, named name: String = "subscription", changing known: Device? = nil,
        _ variables: Variables
    ) throws(Failure) {
        guard let members = json.object else { throw .malformed("\(name) must be an object") }
        var fields = Fields(members, of: name)
        let type = try fields.optionalText("type")
        let stated = try type.map { (type) throws(Failure) in try Self.platform(type) }
        guard stated != nil || known != nil else { throw .malformed("\(name).type is required") }
        let platform = stated ?? known?.platform ?? .ios
        guard known == nil || known?.platform == platform else {
            throw .malformed("\(name).type cannot be changed")
        }
        self.platform = platform
        token = try Self.token(&fields, on: platform, variables)
        guard token != nil || known != nil else { throw .malformed("\(name).token is required") }
        environment =
            try fields.integer("test_type") == 1 && platform == .ios ? .development : nil
        let types = try fields.wholeNumber("notification_types")
        let isEnabled = try fields.boolean("enabled")
        self.isEnabled = isEnabled == false ? false : types.map { $0 > 0 } ?? isEnabled
        appVersion = try fields.optionalText("app_version", atMost: Alias.longest)
        model = try fields.optionalText("device_model", atMost: Alias.longest)
        system = try fields.optionalText("device_os", atMost: Alias.longest)
        try fields.finish(ignoring: [
            "id", "session_time", "session_count", "sdk", "rooted", "net_type", "carrier",
        ])
    }

    /// A device of the older client: `device_type`, `identifier` and others among the body's own members.
    ///
    /// - Parameter known: the device that the request changes; `nil` if it makes one.
    @export(interface)
    package init(
        player fields: inout Fields, changing known: Device? = nil, _ variables: Variables
    ) throws(Failure) {
        let type = try fields.wholeNumber("device_type")
        guard type != nil || known != nil else { throw .malformed("device_type is required") }
        let stated = try type.map { (type) throws(Failure) in try Self.platform(player: type) }
        let platform = stated ?? known?.platform ?? .ios
        guard known == nil || known?.platform == platform else {
            throw .malformed("device_type cannot be changed")
        }
        self.platform = platform
        token = try Self.token(&fields, "identifier", on: platform, variables)
        guard token != nil || known != nil else { throw .malformed("identifier is required") }
        environment =
            try fields.wholeNumber("test_type") == 1 && platform == .ios ? .development : nil
        isEnabled = try fields.wholeNumber("notification_types").map { $0 > 0 }
        appVersion = try fields.optionalText("game_version", atMost: Alias.longest)
        model = try fields.optionalText("device_model", atMost: Alias.longest)
        system = try fields.optionalText("device_os", atMost: Alias.longest)
    }

    static func platform(_ type: String) throws(Failure) -> Platform {
        switch type {
        case "iOSPush": return .ios
        case "AndroidPush": return .android
        case "ChromePush", "FirefoxPush", "SafariPush", "WebPush": return .web
        default:
            throw unsupported(
                "the subscription type \(type)", "use iOSPush, AndroidPush, or a browser's")
        }
    }

    /// OneSignal: *Add a device*, `device_type`.
    private static func platform(player type: Int64) throws(Failure) -> Platform {
        switch type {
        case 0: return .ios
        case 1: return .android
        case 5, 8, 17: return .web
        default: throw unsupported("device_type \(type)", "use 0, 1, 5, 8 or 17")
        }
    }

    private static func token(
        _ fields: inout Fields, _ name: String = "token", on platform: Platform,
        _ variables: Variables
    ) throws(Failure) -> DeviceToken? {
        let key = try fields.optionalText("web_p256")
        let secret = try fields.optionalText("web_auth")
        let hasKeys = [key, secret].contains { $0?.isEmpty == false }
        guard let text = try fields.optionalText(name) else {
            guard !hasKeys else {
                throw .malformed("web_p256 and web_auth require \(fields.path(of: name))")
            }
            return nil
        }
        guard platform == .web else {
            guard !hasKeys else {
                throw .malformed("only a browser's subscription has web_p256 and web_auth")
            }
            guard let token = DeviceToken(text, on: platform),
                platform == .ios || !text.utf8.starts(with: "https://".utf8)
            else {
                throw .malformed(
                    "\(fields.path(of: name)) must be \(DeviceToken.form(on: platform))")
            }
            return token
        }
        guard let key, let secret else {
            throw .malformed("a browser's subscription requires web_p256 and web_auth")
        }
        let json: JSONValue = [
            "endpoint": .string(text), "keys": ["p256dh": .string(key), "auth": .string(secret)],
        ]
        let subscription: PushSubscription
        do throws(Failure) { subscription = try PushSubscription(json) } catch {
            throw error.renamed([
                ("subscription.endpoint", fields.path(of: name)),
                ("subscription.keys.p256dh", "web_p256"), ("subscription.keys.auth", "web_auth"),
            ])
        }
        try PushHosts(variables).check(subscription.endpoint)
        return DeviceToken(subscription)
    }

    /// Makes the subscription a user's alone, or changes it.
    ///
    /// - Parameter known: the user's device that it changes.
    /// - Returns: the device afterwards.
    @export(interface)
    package func claim(
        for user: UserID, changing known: Device? = nil, _ state: State, as request: Request
    ) throws(Failure) -> Device {
        if let token, token != known?.token || environment != nil || known == nil {
            var registration = registration(of: token)
            registration.previous = known?.token == token ? nil : known?.token
            registration.requiresPrevious = registration.previous != nil
            let device = try state.registry.claim(registration, for: user, at: request.time)
            Log().registered(token, of: user)
            return device
        }
        guard let device = known else { throw noSubscription }
        var members = JSONObject()
        members["appVersion"] = appVersion.map { .string($0) }
        members["model"] = model.map { .string($0) }
        members["os"] = system.map { .string($0) }
        members["enabled"] = isEnabled.map { .bool($0) }
        guard !members.members.isEmpty else { return device }
        let change = try ProfileChange(
            Fields(["devices": .object([device.id: .object(members)])]))
        let document = try state.change(user, by: change, as: request)
        return document.devices.first { $0.id == device.id } ?? device
    }

    /// The registration of a subscription that the request makes; `nil` without a token.
    var registration: Registration? {
        guard let token else { return nil }
        return registration(of: token)
    }

    private func registration(of token: DeviceToken) -> Registration {
        var registration = Registration(token)
        registration.platform = platform ?? .ios
        registration.environment = environment
        registration.appVersion = appVersion
        registration.model = model
        registration.system = system
        registration.isEnabled = isEnabled
        return registration
    }
}

let noSubscription = Failure.refused(.notFound, "Subscription not found")

extension Device {
    /// The device as OneSignal shows a subscription, without its token.
    package var subscription: JSONValue {
        var members: JSONObject = [
            "id": .string(id), "type": .string(subscriptionType), "enabled": .bool(isEnabled),
            "notification_types": isEnabled ? 1 : -2,
        ]
        members["app_version"] = appVersion.map { .string($0) }
        members["device_model"] = model.map { .string($0) }
        members["device_os"] = system.map { .string($0) }
        return .object(members)
    }

    private var subscriptionType: String {
        switch platform {
        case .ios: return "iOSPush"
        case .android: return "AndroidPush"
        case .web:
            let address = token.endpoint ?? ""
            if address.utf8.starts(with: "https://web.push.apple.com/".utf8) { return "SafariPush" }
            let isFirefox = address.utf8.starts(with: "https://updates.push.services.mozilla".utf8)
            return isFirefox ? "FirefoxPush" : "ChromePush"
        }
    }
}
