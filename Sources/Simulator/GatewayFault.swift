import Turnstone

/// A fault that APNs makes with valid pushes.
struct GatewayFault {
    enum Effect {
        case refuse(PushRefusal)
        case stall
        case reset(code: UInt32)
        case drop(resetting: Bool)
        /// The usual answer, but late.
        case delay
    }

    /// The server that has it.
    enum Service {
        case apns, fcm, oauth

        func standardReason(_ status: Int64) -> String {
            switch self {
            case .apns: GatewayFault.standardReason(status)
            case .fcm: Self.fcmCodes[status] ?? "none"
            case .oauth: status == 400 ? "invalid_grant" : "internal_failure"
            }
        }

        private static let fcmCodes: [Int64: String] = [
            400: "INVALID_ARGUMENT", 401: "ACCESS_TOKEN_EXPIRED", 404: "UNREGISTERED",
            429: "QUOTA_EXCEEDED", 500: "INTERNAL", 503: "UNAVAILABLE",
        ]
    }

    let effect: Effect
    let delay: Interval
    /// Whether APNs accepts the push anyway, and only its answer is lost.
    let isAccepted: Bool
    private let target: String?
    private let every: Int64
    private var seen: Int64 = 0
    private(set) var remaining: Int64

    /// Reads the command `apns-fault`, `fcm-fault` or `oauth-fault`.
    init(_ command: JSONObject, of service: Service = .apns) throws(Failure) {
        effect = try Self.effect(command, service)
        delay = try command.patience() ?? .seconds(0)
        isAccepted = try command.flag("accepted")
        let channel = try command.text("channel")
        let token = try command.text("token")
        // APNs' tokens are hex in either case, FCM's are texts.
        target = (service == .apns ? token?.lowercased() : token) ?? channel
        every = max(1, try command.number("every") ?? 1)
        remaining = try command.number("count") ?? .max
    }

    private static func effect(
        _ command: JSONObject, _ service: Service
    ) throws(Failure) -> Effect {
        switch try command.text("kind") ?? "status" {
        case "status":
            let status = try command.required("status", command.number("status"))
            let reason = try command.text("reason") ?? service.standardReason(status)
            let timestamp = command["timestamp"]?.timestamp
            var refusal = PushRefusal(Int(status), reason, "as told", since: timestamp)
            refusal.retryAfter = try command.retryAfter()
            return .refuse(refusal)
        case "stall": return .stall
        case "reset":
            let code = try command.number("code") ?? 7  // REFUSED_STREAM
            return .reset(code: UInt32(clamping: code))
        case "drop": return .drop(resetting: try command.flag("reset"))
        case "delay": return .delay
        default: throw badCommand("kind must be status, stall, reset, drop or delay")
        }
    }

    static func standardReason(_ status: Int64) -> String {
        switch status {
        case 403: "InvalidProviderToken"
        case 410: "Unregistered"
        case 413: "PayloadTooLarge"
        case 429: "TooManyRequests"
        case 500: "InternalServerError"
        case 503: "ServiceUnavailable"
        default: "BadDeviceToken"
        }
    }

    /// Whether the fault applies to this push; counts it.
    mutating func strikes(_ pushedTo: String) -> Bool {
        guard remaining > 0, target == nil || target == pushedTo else { return false }
        seen += 1
        guard seen % every == 0 else { return false }
        remaining -= 1
        return true
    }
}

extension [GatewayFault] {
    /// The first fault that applies to a push, which is counted; it goes with its last push.
    mutating func strike(_ pushedTo: String) -> GatewayFault? {
        for index in indices where self[index].strikes(pushedTo) {
            let fault = self[index]
            if fault.remaining == 0 { remove(at: index) }
            return fault
        }
        return nil
    }
}
