import Foundation

/// A device that an app registers, so that pushes reach it.
public struct PushToken: Hashable, Sendable {
    enum Kind: Hashable, Sendable {
        case apple
        case android
        case web(JSONValue)
    }

    /// The token's text: hex for APNs, as it is for FCM.
    public let text: String
    let kind: Kind

    /// The token from APNs: `application(_:didRegisterForRemoteNotificationsWithDeviceToken:)`.
    public static func apple(_ token: Data) -> PushToken {
        let digits = Array("0123456789abcdef")
        let hex = token.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }
        return PushToken(text: String(hex), kind: .apple)
    }

    /// The token from Firebase Cloud Messaging.
    public static func android(_ token: String) -> PushToken {
        PushToken(text: token, kind: .android)
    }

    /// The value of `PushSubscription.toJSON()` in a browser.
    public static func web(_ subscription: JSONValue) -> PushToken {
        PushToken(text: "", kind: .web(subscription))
    }

    /// The members of a registration that name the token.
    ///
    /// - Parameter name: the token's member: `device_token`, `deviceToken` or `token`.
    func members(_ name: String) -> [String: JSONValue] {
        switch kind {
        case .apple: ["platform": .string("ios"), name: .string(text)]
        case .android: ["platform": .string("android"), name: .string(text)]
        case .web(let subscription): ["platform": .string("web"), "subscription": subscription]
        }
    }

    /// The member of a registration that names this token as the one which is replaced.
    var previousMember: [String: JSONValue] {
        switch kind {
        case .apple, .android: ["previousToken": .string(text)]
        case .web(let subscription): ["previousSubscription": subscription]
        }
    }
}

/// An answer to a registration.
struct Registration: Decodable {
    private let id: String

    func knownID() throws(TurnstoneError) -> String {
        try Self.check(id)
        return id
    }

    /// Refuses an id by which nothing can be found again.
    static func check(_ id: String) throws(TurnstoneError) {
        guard !id.isEmpty else { throw .unexpected("the answer has no id") }
    }
}

/// The gateway of Apple's that a token belongs to. An app that Xcode installs has tokens for `development`.
public enum APNsEnvironment: String, Sendable, Codable {
    case development, production
}

/// A registered device. The token itself is never shown.
public struct RegisteredDevice: Decodable, Hashable, Sendable, Identifiable {
    public let id: String
    /// `ios`, `android` or `web`.
    public let platform: String
    public let deviceName: String?
    public let createdAt: Date?
    public let updatedAt: Date?
    /// When a turn notice last reached it. Nil: never, or not known.
    public let reachedAt: Date?
}
