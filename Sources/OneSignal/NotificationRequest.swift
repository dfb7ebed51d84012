import Edge
import Messages
import Queueing
import Store
import Turnstone

/// A notification that OneSignal's clients ask for.
package struct NotificationRequest {
    /// The key by which a repeated request is recognized.
    private let once: IdempotencyKey?
    private let content: NotificationContent
    private let targets: Targets
    /// A client's own id for the notification, which the answer repeats.
    private let externalID: String?

    /// Reads the members of `POST /notifications`.
    @export(interface)
    package init(_ request: Request, for app: App) throws(Failure) {
        var members = try request.fields().rest
        let external = members["external_id"]?.string
        guard external != nil || (members["external_id"] ?? .null) == .null else {
            throw .malformed("external_id must be a text")
        }
        // Its older name.
        if members["idempotency_key"] == nil || members["idempotency_key"] == .null {
            members["idempotency_key"] = external.map { .string($0) }
        }
        externalID = external
        var fields = Fields(members)
        once = try IdempotencyKey(request, &fields)
        try app.check(fields.text("app_id"))
        try Self.refuseUnsupported(&fields)
        targets = try Targets(&fields)
        content = try NotificationContent(&fields)
        try fields.finish(ignoring: Self.ignored) { name in
            name == "template_id" ? "send the texts, or use /api/events" : nil
        }
    }

    /// Accepts the notification, and starts what delivers it.
    @export(interface)
    package func send(_ request: Request) throws(Failure) -> Response {
        let state = try State(request.variables)
        let outbox = Outbox(state, now: request.time)
        // Also if recipients or segments of the first request are gone, or its moment has passed.
        if let once, let first = try outbox.repeated(once) {
            if first.devices > 0 { state.startDrainer(for: request) }
            return answer(first)
        }
        let message = try content.message(at: request.time)
        let (audience, unknown) = try targets.resolved(in: state)
        guard let audience else { return answer(nil) }
        let sent = try outbox.send(message, to: audience, once: once, unknown: unknown)
        if sent.devices > 0 { state.startDrainer(for: request) }
        return answer(sent)
    }

    private func answer(_ sent: Outbox.Sent?) -> Response {
        var body = JSONObject()
        var errors = sent?.unknownRecipients ?? [:]
        // Users who may be subscribed, but whose documents are busy or cannot be used.
        if let sent, !sent.later.isEmpty { errors["later"] = JSONValue(texts: sent.later) }
        if let sent, !sent.failed.isEmpty { errors["failed"] = JSONValue(texts: sent.failed) }
        if let sent, sent.devices > 0 {
            body["id"] = .string(sent.id)
            body["recipients"] = .integer(Int64(sent.devices))
            if !errors.members.isEmpty { body["errors"] = .object(errors) }
        } else {
            body["id"] = ""
            body["recipients"] = 0
            let isUnknown = sent.map { !$0.later.isEmpty || !$0.failed.isEmpty } ?? false
            body["errors"] =
                isUnknown ? .object(errors) : ["All included players are not subscribed"]
        }
        body["external_id"] = externalID.map { .string($0) }
        var response = Response.ok(.object(body))
        if sent?.isRepeated == true { response.headers.append(("Idempotent-Replayed", "true")) }
        return response
    }

    /// Refuses values that would change what is sent, or when.
    private static func refuseUnsupported(_ fields: inout Fields) throws(Failure) {
        for name in ["include_unsubscribed", "enable_frequency_cap"] {
            if try fields.boolean(name) == true { throw unsupported(name) }
        }
    }

    /// Members for devices and channels that this server does not reach, and labels that no device sees.
    private static let ignored = [
        "name", "external_id", "summary_arg", "summary_arg_count", "large_icon",
        "android_led_color", "android_group", "android_group_message",
        "android_background_layout", "firefox_icon", "chrome_icon", "chrome_big_picture",
        "adm_big_picture", "adm_group", "adm_group_message", "adm_large_icon", "adm_small_icon",
        "adm_sound", "wp_wns_sound", "huawei_accent_color", "huawei_badge_add_num",
        "huawei_badge_class", "huawei_badge_set_num", "huawei_bi_tag", "huawei_big_picture",
        "huawei_category", "huawei_channel_id", "huawei_existing_channel_id",
        "huawei_large_icon", "huawei_led_color", "huawei_msg_type", "huawei_small_icon",
        "huawei_sound", "huawei_visibility", "disable_email_click_tracking",
    ]
}

/// An estimate of a notification's recipients.
package struct CountRequest {
    private let targets: Targets

    /// Reads the members of `POST /notifications/count-unsaved`.
    package init(_ request: Request, for app: App) throws(Failure) {
        var fields = try request.fields()
        try app.check(fields.text("app_id"))
        targets = try Targets(&fields)
        try fields.finish(ignoring: [])
    }

    package func answer(_ request: Request) throws(Failure) -> Response {
        let state = try State(request.variables)
        guard let audience = try targets.resolved(in: state).audience else {
            return .ok(["count": 0])
        }
        let count = try Outbox(state, now: request.time).count(audience)
        return .ok(["count": .integer(Int64(count.devices))])
    }
}
