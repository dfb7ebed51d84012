import Edge
import Messages
import Queueing
import Spool
import Store
import Turnstone

/// A notification as OneSignal shows it. Texts are not kept after they were sent, so they are missing.
package enum NotificationView {
    package static let unknown = Failure.refused(.notFound, "Notification not found")

    /// - Throws: not found if there is no such notification (any more).
    @export(interface)
    package static func shown(
        _ id: String, of app: App, _ state: State, at now: Timestamp
    ) throws(Failure) -> JSONValue {
        let report: Report
        do throws(Failure) { report = try Report(of: id, state, at: now) } catch {
            throw error.disposition == .refused(.notFound) ? unknown : error
        }
        var members = base(id, report.record, of: app)
        let accepted = report.count(.accepted)
        let failed = [Outcome.gone, .quarantined, .superseded].reduce(0) { $0 + report.count($1) }
        let errored = [Outcome.refused, .expired, .damaged].reduce(0) { $0 + report.count($1) }
        let remaining = report.count(nil) + report.count(.held)
        members["successful"] = .integer(Int64(accepted))
        members["failed"] = .integer(Int64(failed))
        members["errored"] = .integer(Int64(errored))
        members["remaining"] = .integer(Int64(remaining))
        let isCancelled = report.state == .cancelled || report.state == .cancelling
        members["canceled"] = .bool(isCancelled)
        return .object(members)
    }

    /// A page of the notifications, latest first.
    @export(interface)
    package static func page(
        _ request: Request, of app: App, _ state: State
    ) throws(Failure) -> Response {
        let limit = try request.number("limit", in: 0...50) ?? 50
        let offset = try request.number("offset", in: 0...1_000_000) ?? 0
        let page = try state.messages.latest(from: offset, atMost: limit)
        return .ok([
            "total_count": .integer(Int64(page.total)), "offset": .integer(Int64(offset)),
            "limit": .integer(Int64(limit)),
            "notifications": .array(page.records.map { .object(base($0.id, $0.record, of: app)) }),
        ])
    }

    private static func base(_ id: String, _ record: MessageRecord, of app: App) -> JSONObject {
        var members: JSONObject = [
            "id": .string(id), "app_id": .string(app.id),
            "queued_at": .integer(record.accepted.seconds),
            "send_after": .integer((record.sendAfter ?? record.accepted).seconds),
            "canceled": .bool(record.cancelled != nil),
        ]
        members["delayed_option"] = record.delayed.map { .string($0.name) }
        members["delivery_time_of_day"] = record.delayed?.time.map { .string($0) }
        // Not throttle_rate_per_minute: onesignal-python-api 5.18 raises for a number and for a string, since
        // of the two schemas that its notification is made of, each allows only one of them.
        members["recipients"] = .integer(Int64(record.devices))
        return members
    }

    /// Cancels what has not been sent.
    @export(interface)
    package static func cancel(_ id: String, _ request: Request) throws(Failure) -> Response {
        let state = try State(request.variables)
        let report: Report
        do throws(Failure) {
            report = try Report.cancelling(id, state, for: request)
        } catch { throw error.disposition == .refused(.notFound) ? unknown : error }
        guard !report.isSent, !report.isBeyondRecall else {
            throw .malformed("Notification has already been sent to all recipients")
        }
        return .ok(["success": true])
    }
}
