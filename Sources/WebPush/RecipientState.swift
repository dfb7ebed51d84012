import Turnstone

/// One recipient's messages at one push service.
struct RecipientState {
    private(set) var inFlight = 0
    /// When the last answer came, or when the first unanswered message was sent.
    private(set) var lastProgress = Instant.first
    /// Whether there has been no answer since a message was given up.
    private var isUnanswered = false

    /// A push service on another continent answers in a third of that, the first connection included.
    static let patience = Interval.seconds(1)

    /// Whether nothing needs to be remembered.
    var isOver: Bool { inFlight == 0 && !isUnanswered }

    /// Whether messages are in flight and answers no longer expected soon. After a message was given up, this
    /// is so from the next one on.
    func isSilent(at now: Instant) -> Bool { inFlight > 0 && now - lastProgress > Self.patience }

    mutating func didSend(at now: Instant) {
        if inFlight == 0, !isUnanswered { lastProgress = now }
        inFlight += 1
    }

    mutating func didAnswer(at now: Instant) {
        inFlight -= 1
        lastProgress = now
        isUnanswered = false
    }

    /// Records that a message went out and no answer came.
    mutating func didLose(at now: Instant) {
        if isSilent(at: now) { isUnanswered = true }
        inFlight -= 1
    }

    /// Records that a message did not go out.
    mutating func didFail() { inFlight -= 1 }
}
