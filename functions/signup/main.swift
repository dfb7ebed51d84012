// GET /signup: whether players get API keys by themselves.
// POST /signup: begins: answers a code for the player's profile on Online-Go.com.
// POST /signup/confirm: ends: reads the profile, and answers an API key if the code is there.
//
//   in    POST /signup {"username"}; POST /signup/confirm {"username", "token", "revoke_others"?}
//   out   GET 200 {"signup": "ogs-profile", "site"}, or {"signup": "off"}
//         POST 200 {"code", "token", "expires_at", "username"}
//         confirm: 200 {"api_key": 64 hex digits, "user_id", "username", "created_at", "description"}
//   else  400 malformed, 401 the token is unknown or expired, or its key has ended, 403 the code is not in
//         the profile, 404 signup is off, or no such player, 409 no further key for this player, 429 too
//         many attempts, 503 Online-Go.com does not answer or is not asked at present
//
// A repeated confirmation answers the same key.
//
// A code in a profile is public. Only the caller who asked for it has its token, without which it is
// worthless.

import Edge
import Store
import Turnstone

serve(
    Route("GET", "/signup") { (request) throws(Failure) in
        _ = try State(request.variables)
        guard try request.variables.allowsSignup() else { return .ok(["signup": "off"]) }
        return .ok([
            "signup": "ogs-profile", "site": .string(try request.variables.ogsWebAddress().text),
        ])
    },
    Route("POST", "/signup") { (request) throws(Failure) in
        try requireSignup(request)
        var fields = try request.fields()
        let name = try fields.playerName()
        let signups = try State(request.variables).signups
        try signups.count(.codes(address: request.address ?? ""))
        let (token, proof) = try signups.make(for: name, at: request.time)
        return .ok([
            "code": .string(proof.code), "token": .string(token),
            "expires_at": .string(CalendarDate(proof.expires).text), "username": .string(name),
        ])
    },
    Route("POST", "/signup/confirm") { (request) throws(Failure) in
        try requireSignup(request)
        var fields = try request.fields()
        let confirmation = try Confirmation(&fields, request)
        return .ok(.object(try confirmation.key()))
    })

private func requireSignup(_ request: Request) throws(Failure) {
    guard try request.variables.allowsSignup() else {
        throw .refused(
            .notFound, "players do not get keys by themselves here (SIGNUP is off)")
    }
}

extension Fields {
    /// A player's name, without blanks around it.
    mutating func playerName() throws(Failure) -> String {
        let text = try requiredText("username")
        var bytes = Array(text.utf8)[...]
        while bytes.first == 32 { bytes.removeFirst() }
        while bytes.last == 32 { bytes.removeLast() }
        let name = String(decoding: bytes, as: UTF8.self)
        guard (1...100).contains(bytes.count), !name.unicodeScalars.contains(where: isControl)
        else {
            throw .malformed("username must be a name of 1 to 100 bytes, as Online-Go.com shows it")
        }
        return name
    }
}

private func isControl(_ scalar: Unicode.Scalar) -> Bool {
    scalar.value < 0x20 || (0x7f...0x9f).contains(scalar.value)
}
