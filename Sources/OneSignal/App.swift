import Edge
import Turnstone

/// The app that OneSignal's clients name by its id.
package struct App {
    /// `ONESIGNAL_APP_ID`.
    package let id: String

    /// Checks the caller's key.
    ///
    /// - Throws: unauthenticated without a server key, misconfigured without an app id.
    package init(_ request: Request) throws(Failure) {
        guard let id = request.variables.text("ONESIGNAL_APP_ID") else {
            throw request.variables.wrong(
                "ONESIGNAL_APP_ID", "set it to the app id that OneSignal's clients send")
        }
        self.id = id
        try request.requireServerKeyInAnyForm()
    }

    /// The same on a route whose path names the app as `{app_id}`.
    package init(inPathOf request: Request) throws(Failure) {
        try self.init(request)
        try check(request[parameter: "app_id"])
    }

    /// The same on a route whose query names the app.
    package init(inQueryOf request: Request) throws(Failure) {
        try self.init(request)
        try check(request.query("app_id"))
    }

    /// Throws malformed, with OneSignal's sentence, if a request names no app or another one.
    package func check(_ named: String?) throws(Failure) {
        guard let named, haveEqualBytes(lowercased(named), lowercased(id)) else {
            throw .malformed(
                "app_id not found. You may be missing a Content-Type: application/json header.")
        }
    }
}

/// The refusal of what OneSignal has and this program has not.
package func unsupported(_ name: String, _ advice: String = "") -> Failure {
    .malformed("this server does not support \(name)\(advice.isEmpty ? "" : ": " + advice)")
}

/// Why a member or a field of a filter is not supported; `nil` if it is an unknown one.
func unknownHere(_ name: String) -> String? {
    switch name {
    case "lat", "long", "location": "locations are not known here"
    case "amount_spent", "purchases", "bought_sku": "purchases are not known here"
    case "session_time", "playtime": "the lengths of sessions are not known here"
    default: nil
    }
}

extension Failure {
    /// The same, with another beginning of its sentence.
    ///
    /// - Parameter names: beginnings with what replaces them. The first one that fits counts; it must end
    ///   where a name does.
    func renamed(_ names: [(ours: String, theirs: String)]) -> Failure {
        for (ours, theirs) in names where sentence.utf8.starts(with: ours.utf8) {
            let rest = Array(sentence.utf8.dropFirst(ours.utf8.count))
            guard let next = rest.first, !isNameCharacter(next) else { continue }
            return Failure(
                disposition, theirs + String(decoding: rest, as: UTF8.self), cause: cause,
                file: file)
        }
        return self
    }
}

private func isNameCharacter(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
        UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"):
        true
    default: false
    }
}
