import JSON
import Turnstone

/// One time that a push service was asked, or what became of a delivery without asking.
package struct Attempt: Equatable, Sendable {
    package let at: Timestamp
    /// `apns-id`.
    package let pushID: String
    /// The HTTP status; `nil` where no answer came.
    package let status: Int?
    /// The push service's reason, or why there was no answer.
    package let reason: String?
    /// `nil` where the delivery has not ended with this.
    package let outcome: Outcome?

    package init(
        at: Timestamp, pushID: String, status: Int? = nil, reason: String? = nil, outcome: Outcome?
    ) {
        self.at = at
        self.pushID = pushID
        self.status = status
        self.reason = reason
        self.outcome = outcome
    }
}

extension ReceiptLog {
    /// Notes what a push service said of a push.
    package func append(_ attempt: Attempt, of delivery: Delivery, in file: SpoolFile) {
        if file.progress.start == nil { file.progress.start = position }
        if let outcome = attempt.outcome {
            file.progress.settled.insert(delivery.number)
            if outcome == .accepted { file.progress.isReached = true }
        }
        var line = LineBuilder()
        line.add("id", text: file.notification.id)
        line.add("n", delivery.number)
        if let user = file.user(of: delivery) { line.add("user", text: user.text) }
        line.add("device", text: delivery.token.start)
        line.add("at", Int(attempt.at.milliseconds))
        line.add("apns_id", text: attempt.pushID)
        if let status = attempt.status { line.add("status", status) }
        if let reason = attempt.reason { line.add("reason", text: reason) }
        if let outcome = attempt.outcome { line.add("outcome", text: outcome.rawValue) }
        append(line.end())
    }

    /// Notes that a pass is over and what is left waits until a moment.
    func append(putOff file: SpoolFile, until moment: Timestamp) {
        if file.progress.start == nil { file.progress.start = position }
        file.progress.endedPass = file.pass
        var line = LineBuilder()
        line.add("id", text: file.notification.id)
        line.add("pass", file.pass)
        line.add("until", Int(moment.milliseconds))
        append(line.end())
    }

    /// Notes that every device has its outcome.
    func append(finished file: SpoolFile, at now: Timestamp) {
        var line = LineBuilder()
        line.add("id", text: file.notification.id)
        if let user = file.notification.user { line.add("user", text: user.text) }
        line.add("accepted_at", Int(file.notification.accepted.milliseconds))
        line.add("finished_at", Int(now.milliseconds))
        append(line.end())
    }
}

/// One flat object as a line. A line a microsecond leaves no time for a tree of values.
private struct LineBuilder {
    private var bytes: [UInt8] = []

    init() {
        bytes.reserveCapacity(256)
        bytes.append(UInt8(ascii: "{"))
    }

    mutating func add(_ name: StaticString, _ number: Int) {
        begin(name)
        bytes.append(contentsOf: String(number).utf8)
    }

    mutating func add(_ name: StaticString, text: String) {
        begin(name)
        guard text.utf8.allSatisfy(isPlain) else {
            bytes += JSON.text(.string(text))
            return
        }
        bytes.append(UInt8(ascii: "\""))
        bytes.append(contentsOf: text.utf8)
        bytes.append(UInt8(ascii: "\""))
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
