// GET /api/notifications: what became of the caller's notifications, newest first.
// POST /api/notifications/test: sends the caller a notification now, to see whether it arrives.
//
//   in    a JSON Web Token, or X-API-Key
//         GET ?limit=30&after=<next of the page before>
//         POST {"device"?: the id of one of the caller's devices, "language"?: "de"}
//   out   GET 200 {"success": true, "notifications": [{"id", "at", "kind", "platform", "device", "outcome",
//         "reason", "explanation", …}], "next": text or null, "stopped": true if the time was not enough,
//         "incomplete"?: true if some cannot be read now}
//         POST 202 {"success": true, "id", "devices": how many}
//   else  400 malformed, 401 unknown caller, 403 a page of another site, 404 no such device, 409 the caller
//         has no device that a push service reaches, 429 too many, 503 busy

import Callers
import Documents
import Edge
import Messages
import Queueing
import Spool
import Store
import Turnstone
import Unix

/// The longest time that one page may take.
let patience = Interval.milliseconds(500)

serve(
    Route("GET", "/api/notifications") { (request) throws(Failure) in
        let deadline = Instant.now + patience
        let state = try State(request.variables)
        let user = try state.caller(of: request)
        let limit = try request.number("limit", in: 1...100) ?? 30
        let document = try state.users[user].read() ?? User()
        let place = try request.receiptsPlace()
        var history = try ReceiptHistory(
            of: document.ids(of: user), in: state.spools, from: place)
        var page = HistoryPage(state, devices: document.devices)
        while page.entries.count < limit, let receipt = try history.next(until: deadline) {
            page.add(receipt)
        }
        let isFull = page.entries.count == limit
        if place != nil {
            var newer = try ReceiptHistory(of: document.ids(of: user), in: state.spools)
            try page.removeOvertaken(&newer, until: deadline)
        }
        for failure in history.unread {
            Log().failure(failure)
            failure.recordFile()
        }
        var answer: JSONObject = [
            "success": true, "notifications": .array(page.entries),
            "next": history.isAtEnd ? .null : .string(history.place.text),
            "stopped": .bool(!isFull && !history.isAtEnd),
        ]
        if !history.unread.isEmpty { answer["incomplete"] = true }
        return .ok(.object(answer))
    },
    Route("POST", "/api/notifications/test") { (request) throws(Failure) in
        let state = try State(request.variables)
        let user = try state.caller(of: request)
        var fields = try request.fields()
        let device = try fields.optionalText("device")
        let language = try fields.language("language")
        try fields.finish()
        let text = TestText(in: language)
        let sent = try Outbox(state, now: request.time).sendTest(
            to: user, device: device, title: text.title, body: text.body)
        state.startDrainer(for: request)
        return Response(
            status: 202,
            body: [
                "success": true, "id": .string(sent.id), "devices": .integer(Int64(sent.devices)),
            ])
    })

extension Fields {
    mutating func language(_ name: String) throws(Failure) -> LanguageTag? {
        guard let text = try optionalText(name) else { return nil }
        guard let language = LanguageTag(text) else {
            throw .malformed("\(path(of: name)) must be a language such as en or pt-BR")
        }
        return language
    }
}
