import JSON
import Turnstone

/// FCM's answer to a message that it refuses.
///
/// Google: *FCM error codes*; *google.rpc.Status*.
struct FCMRefusal: Error, Equatable {
    let status: Int
    /// FCM's own error code; `nil` if only the status says what is wrong.
    var code: String?
    /// The `reason` of an `ErrorInfo`.
    var info: String?
    /// The field that a `BadRequest` names.
    var field: String?
    /// The field `retry-after`: seconds or a date.
    var retryAfter: String?
    /// The exact fault.
    var detail = ""

    init(_ status: Int, _ code: String?, _ detail: String = "") {
        self.status = status
        self.code = code
        self.detail = detail
    }

    /// A member of the message that is wrong.
    static func invalid(_ field: String, _ detail: String) -> FCMRefusal {
        var refusal = FCMRefusal(400, "INVALID_ARGUMENT", "\(field) \(detail)")
        refusal.field = field
        return refusal
    }

    static func unauthenticated(_ info: String, _ detail: String) -> FCMRefusal {
        var refusal = FCMRefusal(401, nil, detail)
        refusal.info = info
        return refusal
    }

    /// For the report's counts.
    var reason: String { code ?? info ?? name }

    /// `error.status`.
    private var name: String {
        switch status {
        case 400: "INVALID_ARGUMENT"
        case 401: "UNAUTHENTICATED"
        case 403: "PERMISSION_DENIED"
        case 404: "NOT_FOUND"
        case 429: "RESOURCE_EXHAUSTED"
        case 503: "UNAVAILABLE"
        default: "INTERNAL"
        }
    }

    var body: [UInt8] {
        func type(_ name: String) -> JSONValue { .string("type.googleapis.com/\(name)") }
        var details: [JSONValue] = []
        if let code {
            details.append([
                "@type": type("google.firebase.fcm.v1.FcmError"), "errorCode": .string(code),
            ])
        }
        if let field {
            details.append([
                "@type": type("google.rpc.BadRequest"),
                "fieldViolations": [["field": .string(field), "description": .string(detail)]],
            ])
        }
        if let info {
            details.append([
                "@type": type("google.rpc.ErrorInfo"), "reason": .string(info),
                "domain": "googleapis.com",
            ])
        }
        var error: JSONObject = [
            "code": JSONValue(status), "message": .string(detail), "status": .string(name),
        ]
        if !details.isEmpty { error["details"] = .array(details) }
        return JSON.text(["error": .object(error)])
    }
}
