import Crypto
import JSON
import Turnstone

extension ReceiptLog {
    /// Deliveries of one notification with consecutive numbers.
    struct Sending {
        let file: SpoolFile
        let at: Timestamp
        let first: Int
        var last: Int
    }

    /// Records that a push is about to be sent. Call ``write()`` before sending it, so that after a crash the
    /// next drainer knows that it may have been sent.
    package func append(sending delivery: Delivery, in file: SpoolFile, at now: Timestamp) {
        if let same = sending, same.file === file, delivery.number == same.last + 1 {
            sending?.last += 1
            return
        }
        flushSending()
        sending = Sending(file: file, at: now, first: delivery.number, last: delivery.number)
    }

    func flushSending() {
        guard let pushes = sending else { return }
        sending = nil
        var line = begin(pushes.file)
        line.add("at", Int(pushes.at.milliseconds))
        line.add("from", pushes.first)
        line.add("to", pushes.last)
        append(line.end())
    }

    /// Records that a push was not sent after all. If an earlier drainer may have sent it, it stays in doubt.
    package func append(notSent delivery: Delivery, in file: SpoolFile) {
        flushSending()
        guard !file.progress.unanswered.contains(delivery.number) else { return }
        var line = begin(file)
        line.add("n", delivery.number)
        line.add("not_sent", true)
        append(line.end())
    }

    /// Records an attempt.
    @export(interface)
    package func append(_ attempt: Attempt, of delivery: Delivery, in file: SpoolFile) {
        flushSending()
        var line = begin(file)
        // A delivery that was moved or put off after such an attempt is in doubt without a failure.
        let isRepeat =
            file.progress.unanswered.contains(delivery.number)
            || delivery.isInDoubt && delivery.failures == nil
        let isInDoubt = file.isInDoubt(delivery)
        file.progress.unanswered.remove(delivery.number)
        if attempt.isLost || isRepeat && attempt.outcome == nil {
            file.progress.doubtful.insert(delivery.number)
        }
        if let outcome = attempt.outcome { file.progress.settle(delivery.number, outcome) }
        if let kind = attempt.kind { file.progress.fail(delivery.number, kind) }
        // Before the delivery's own line: if that line survives a crash, these do too.
        for id in delivery.brings ?? file.notification.messageIDs {
            append(
                attempt, ofMessage: id, delivery, in: file, isRepeat: isRepeat, isInDoubt: isInDoubt
            )
        }
        if let ended = attempt.ofHidden {
            for id in delivery.hides { append(ended, ofMessage: id, delivery, in: file) }
        }
        line.add("n", delivery.number)
        if let kind = file.notification.receiptKind { line.add("kind", text: kind) }
        line.add(attempt, of: delivery, in: file, isRepeat: isRepeat, isInDoubt: isInDoubt)
        append(line.end())
    }

    /// Records an attempt for a message that the notification brings.
    @export(interface)
    package func append(
        _ attempt: Attempt, ofMessage id: String, _ delivery: Delivery, in file: SpoolFile,
        isRepeat: Bool = false, isInDoubt: Bool = false
    ) {
        flushSending()
        var line = LineBuilder()
        line.add("id", text: id)
        line.add("in", text: file.notification.id)
        line.add(attempt, of: delivery, in: file, isRepeat: isRepeat, isInDoubt: isInDoubt)
        append(line.end())
    }

    /// Records that held messages go to fewer devices than they were accepted for.
    ///
    /// - Parameters:
    ///   - count: the number of devices that they do not go to.
    ///   - release: the id of the notification that brings the messages to the others.
    @export(interface)
    package func append(
        held ids: [String], _ outcome: Outcome, _ reason: String?, onDevices count: Int64,
        of user: UserID, in release: String, at now: Timestamp
    ) {
        flushSending()
        for id in ids {
            var line = LineBuilder()
            line.add("id", text: id)
            line.add("in", text: release)
            line.add("user", text: user.text)
            line.add("devices", Int(count))
            line.add("at", Int(now.milliseconds))
            if let reason { line.add("reason", plain: reason) }
            line.add("outcome", plain: outcome.rawValue)
            append(line.end())
        }
    }

    /// Begins a line about a notification. A later drainer must read from the first such line on.
    private func begin(_ file: SpoolFile) -> LineBuilder {
        if file.progress.start == nil { file.progress.start = position }
        var line = LineBuilder()
        line.add("id", text: file.notification.id)
        return line
    }

    /// Records that a pass is over and the remaining devices wait until a moment.
    func append(putOff file: SpoolFile, until moment: Timestamp) {
        file.progress.endedPass = file.pass
        var line = begin(file)
        line.add("pass", file.pass)
        line.add("until", Int(moment.milliseconds))
        append(line.end())
    }

    /// Records that a notification's file could not be read, or that one of its devices gets no push for that
    /// reason.
    ///
    /// - Parameters:
    ///   - number: the device's.
    ///   - delivery: what the file says of the device, if that can be read.
    ///   - isInDoubt: whether a push may have arrived at the device.
    func append(
        damaged id: String, number: Int? = nil, _ delivery: Delivery? = nil,
        isInDoubt: Bool = false, reason: String, at now: Timestamp
    ) {
        flushSending()
        var line = LineBuilder()
        line.add("id", text: id)
        if let number { line.add("n", number) }
        if let delivery {
            if let user = delivery.user { line.add("user", text: user.text) }
            if let token = delivery.token {
                line.add("device", text: token.start)
                line.add("device_id", plain: token.publicID)
            }
        }
        line.add("at", Int(now.milliseconds))
        line.add("reason", text: reason)
        if isInDoubt { line.add("in_doubt", true) }
        line.add("outcome", plain: Outcome.damaged.rawValue)
        append(line.end())
    }

    /// Records that a held message could not be read.
    ///
    /// - Parameters:
    ///   - outcome: `damaged`, or `cancelled` if it was before.
    ///   - device: the device for which it was held; `nil` if that is not known.
    ///   - release: the id of the release that was to bring it.
    package func append(
        unreadable id: String, _ outcome: Outcome, heldFor device: UserDevice?,
        in release: String, reason: String, at now: Timestamp
    ) {
        flushSending()
        var line = LineBuilder()
        line.add("id", text: id)
        line.add("in", text: release)
        if let user = device?.user { line.add("user", text: user.text) }
        if let device { line.add("device_id", text: device.device) }
        line.add("at", Int(now.milliseconds))
        line.add("reason", text: reason)
        line.add("outcome", plain: outcome.rawValue)
        append(line.end())
    }

    /// Records that every device has its outcome.
    func append(finished file: SpoolFile, at now: Timestamp) {
        var line = begin(file)
        if let user = file.notification.user { line.add("user", text: user.text) }
        line.add("accepted_at", Int(file.notification.accepted.milliseconds))
        line.add("finished_at", Int(now.milliseconds))
        append(line.end())
    }
}

/// Builds one flat object as a line. At one line a microsecond there is no time for a tree of values.
private struct LineBuilder {
    private var bytes: [UInt8] = []

    init() {
        bytes.reserveCapacity(256)
        bytes.append(UInt8(ascii: "{"))
    }

    mutating func add(
        _ attempt: Attempt, of delivery: Delivery, in file: SpoolFile, isRepeat: Bool,
        isInDoubt: Bool
    ) {
        if let user = file.user(of: delivery) { add("user", text: user.text) }
        switch delivery.aim {
        case .device(let token):
            add("device", text: token.start)
            if file.notification.isMessage {
                add("device_id", plain: delivery.deviceID ?? token.publicID)
            }
        case .channel(let channel): add("channel", plain: channel.text)
        }
        add("at", Int(attempt.at.milliseconds))
        if let id = attempt.pushID { add("apns_id", plain: id) }
        if isRepeat { add("repeat", true) }
        if let status = attempt.status { add("status", status) }
        if let reason = attempt.reason { add("reason", text: reason) }
        if let language = attempt.language { add("language", plain: language.text) }
        if isInDoubt, attempt.outcome != .accepted { add("in_doubt", true) }
        guard let outcome = attempt.outcome else { return }
        if outcome == .accepted { addDelays(of: file.notification, at: attempt.at) }
        add("outcome", plain: outcome.rawValue)
    }

    /// How long the push took, in milliseconds: since it could be sent, and since the newest move that a turn
    /// notice was queued for.
    private mutating func addDelays(of notification: Notification, at moment: Timestamp) {
        // These wait on purpose.
        guard notification.throttle == nil, notification.delayed == nil else { return }
        let since = notification.scheduled ?? notification.accepted
        add("delay", max(0, Int((moment - since).milliseconds)))
        guard let move = notification.turns?.turns.newestMove else { return }
        add("since_move", max(0, Int((moment - move).milliseconds)))
    }

    mutating func add(_ name: StaticString, _ number: Int) {
        begin(name)
        append(String(number))
    }

    mutating func add(_ name: StaticString, _ flag: Bool) {
        begin(name)
        bytes.append(contentsOf: (flag ? "true" : "false").utf8)
    }

    mutating func add(_ name: StaticString, text: String) {
        begin(name)
        guard isPlain(text) else {
            bytes += receiptText(text)
            return
        }
        quote(text)
    }

    /// Adds a text that needs no escapes.
    mutating func add(_ name: StaticString, plain text: String) {
        begin(name)
        quote(text)
    }

    private mutating func quote(_ text: String) {
        bytes.append(UInt8(ascii: "\""))
        append(text)
        bytes.append(UInt8(ascii: "\""))
    }

    /// Appending the `utf8` of a text as a sequence would take three times as long.
    private mutating func append(_ text: String) {
        let copied: Void? = text.utf8.withContiguousStorageIfAvailable {
            bytes.append(contentsOf: $0)
        }
        if copied == nil { bytes.append(contentsOf: text.utf8) }
    }

    private mutating func begin(_ name: StaticString) {
        if bytes.count > 1 { bytes.append(UInt8(ascii: ",")) }
        bytes.append(UInt8(ascii: "\""))
        name.withUTF8Buffer { bytes.append(contentsOf: $0) }
        bytes.append(UInt8(ascii: "\""))
        bytes.append(UInt8(ascii: ":"))
    }

    mutating func end() -> [UInt8] {
        bytes.append(UInt8(ascii: "}"))
        bytes.append(UInt8(ascii: "\n"))
        return bytes
    }
}

/// A text as it stands in a line of the receipts, with its quotes.
func receiptText(_ text: String) -> [UInt8] {
    guard isPlain(text) else {
        let quoted = String(decoding: JSON.text(.string(text)), as: UTF8.self)
        return Array(withoutControls(quoted).utf8)
    }
    return Array("\"\(text)\"".utf8)
}

private func isPlain(_ text: String) -> Bool {
    text.utf8.withContiguousStorageIfAvailable { $0.allSatisfy(isPlain) }
        ?? text.utf8.allSatisfy(isPlain)
}

/// Whether a byte is printable ASCII that needs no escape in a JSON string.
private func isPlain(_ byte: UInt8) -> Bool {
    (0x20...0x7e).contains(byte) && byte != UInt8(ascii: "\"") && byte != UInt8(ascii: "\\")
}
