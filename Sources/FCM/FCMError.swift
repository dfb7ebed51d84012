import Turnstone

/// The body of an error answer.
///
/// Google: *FCM error codes*; *google.rpc.Status* with its details.
struct FCMError: Equatable {
    /// `error.status`, such as `NOT_FOUND`.
    let status: String?
    /// `errorCode` of the detail whose type ends in `FcmError`.
    let code: String?
    /// `reason` of the detail of type `ErrorInfo`.
    let info: String?
    /// The fields that a `BadRequest` names.
    let fields: [String]

    /// - Parameter members: `nil` if the body cannot be read.
    init(_ members: JSONObject?) {
        let error = members?["error"]?.object
        status = error?["status"]?.string
        var code: String?
        var info: String?
        var fields: [String] = []
        for detail in error?["details"]?.array ?? [] {
            guard let detail = detail.object, let type = detail["@type"]?.string else { continue }
            if type.hasSuffix(".FcmError") { code = code ?? detail["errorCode"]?.string }
            if type.hasSuffix(".ErrorInfo") { info = info ?? detail["reason"]?.string }
            if type.hasSuffix(".BadRequest") {
                for violation in detail["fieldViolations"]?.array ?? [] {
                    if let field = violation.object?["field"]?.string { fields.append(field) }
                }
            }
        }
        self.code = code
        self.info = info
        self.fields = fields
    }

    /// Whether the fault is the device token's, and nothing else's.
    var isAboutToken: Bool { !fields.isEmpty && fields.allSatisfy { $0 == "message.token" } }

    /// The most exact word for it.
    func reason(status number: Int) -> String { code ?? info ?? status ?? "HTTP \(number)" }
}
