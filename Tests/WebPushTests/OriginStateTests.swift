import JSON
import TestSupport
import Testing
import Turnstone

@testable import WebPush

/// What the answers to some users' browsers mean for the others of the same push service.
@Suite struct OriginStateTests {
    private let origin: OriginState
    private let start = Instant(milliseconds: 1_000_000)

    init() { origin = Self.origin() }

    private static func origin(isVouchedFor: Bool = false) -> OriginState {
        OriginState(
            "https://push.example.net", mayBePrivate: false, isVouchedFor: isVouchedFor)
    }

    /// - Parameter user: `nil` if it is not known.
    private func request(to user: String?, browser: Int = 1) throws -> WebPushRequest {
        let content = PushContent(
            type: .alert, priority: 10, collapseID: nil, payload: Payload(aps: ["alert": "x"]))
        let path = "\(user ?? "nobody")/\(browser)"
        return WebPushRequest(
            try WebPushMessage(content, home: "https://example.org"),
            to: try Browser(endpoint: "https://push.example.net/\(path)").subscription,
            of: user.flatMap { UserID($0) }, expires: Timestamp(seconds: 1_800_000_000))
    }

    private func answer(
        _ outcome: WebPushOutcome, to user: String?, browser: Int = 1, at moment: Instant? = nil
    ) throws {
        let request = try request(to: user, browser: browser)
        origin.didSend(to: request.recipient, at: moment ?? start)
        origin.didAnswer(outcome, to: request, isMultiplexed: true, at: moment ?? start)
    }

    private func deny(_ user: String?, _ origin: OriginState) throws {
        let recipient = try request(to: user).recipient
        origin.deny("BadJwtToken", to: recipient, pause: .minutes(15), at: start)
    }

    @Test(
        "a token is refused for three users in a row, whatever is refused for one",
        arguments: [
            (["a", "a", "a", "a"], false), ([nil, nil, nil, nil], false), (["a", "b", "a"], false),
            (["a", "b", nil], true), (["a", "b", "b", "c"], true),
        ])
    func denials(users: [String?], isStop: Bool) throws {
        for user in users { try deny(user, origin) }
        #expect(origin.isPaused(at: start) == isStop)
        #expect(origin.isPaused(at: start + .minutes(14)) == isStop)
        #expect(!origin.isPaused(at: start + .minutes(15)))
    }

    @Test func anAcceptanceVouchesForTheToken() throws {
        for user in ["a", "b"] { try deny(user, origin) }
        try answer(.accepted, to: "c")
        for user in 1..<20 { try deny("user\(user)", origin) }
        #expect(!origin.isPaused(at: start))
        try deny("user20", origin)
        #expect(origin.isPaused(at: start))
    }

    @Test func anAcceptanceOfAnEarlierRunVouchesForTheToken() throws {
        let origin = Self.origin(isVouchedFor: true)
        for user in 1..<20 { try deny("user\(user)", origin) }
        #expect(!origin.isPaused(at: start))
        try deny("user20", origin)
        #expect(origin.isPaused(at: start))
    }

    @Test func oneUsersComplaintsConcernNoOther() throws {
        for number in 0..<100 {
            try answer(.laterAsAsked(pause: .hours(1)), to: "noisy", browser: number % 50)
            try answer(.later(pause: .seconds(30)), to: "noisy", browser: 100 + number)
            try answer(.later(pause: .seconds(30)), to: nil, browser: number)
        }
        #expect(!origin.isPaused(at: start))
        #expect(try origin.postponement(to: request(to: "quiet"), at: start) == nil)
        // Only the browser waits for which the push service asked for it.
        #expect(try origin.postponement(to: request(to: "noisy", browser: 100), at: start) == nil)
        #expect(
            try origin.postponement(to: request(to: "noisy", browser: 7), at: start)
                == OriginState.Postponement(
                    reason: WebPushVerdict.pausedBrowser, pause: .hours(1)))
        #expect(
            try origin.postponement(to: request(to: "noisy", browser: 7), at: start + .hours(1))
                == nil)
    }

    @Test func threeUsersComplaintsInARowAreAPause() throws {
        try answer(.laterAsAsked(pause: .hours(1)), to: "noisy")
        try answer(.later(pause: .seconds(30)), to: "a")
        try answer(.accepted, to: "b")
        try answer(.later(pause: .seconds(30)), to: "a")
        try answer(.later(pause: .seconds(10)), to: "b")
        #expect(!origin.isPaused(at: start))
        try answer(.laterAsAsked(pause: .hours(1)), to: "noisy")
        // A pause that the push service asked one user for does not count.
        #expect(origin.pausedUntil == start + .seconds(10))
        #expect(origin.pauseReason == "it answered 429 or 5xx")
    }

    @Test func whatThreeUsersWereAskedForIsThePause() throws {
        for user in ["a", "b", "c"] {
            try answer(.laterAsAsked(pause: .seconds(120)), to: user)
        }
        #expect(origin.pausedUntil == start + .seconds(120))
    }

    @Test func anAnswerToAMessageThatWasSentBeforeEndsThePause() throws {
        let early = try request(to: "early")
        origin.didSend(to: early.recipient, at: start)
        for user in ["a", "b", "c"] { try answer(.later(pause: .seconds(30)), to: user) }
        #expect(origin.isPaused(at: start))
        origin.didAnswer(.accepted, to: early, isMultiplexed: true, at: start)
        #expect(!origin.isPaused(at: start))
    }

    @Test func oneUsersFailuresLeaveTheWindowAlone() throws {
        for number in 0..<50 { try answer(.accepted, to: "user\(number)") }
        #expect(origin.window.size == 51)
        for number in 0..<50 { try answer(.refused, to: "noisy", browser: number) }
        #expect(origin.window.size == 51)
        for number in 0..<4 { try answer(.refused, to: "user\(number)") }
        #expect(origin.window.size == 25)
    }

    private func wait(_ user: String, count: Int) throws {
        for browser in 0..<count {
            origin.append(
                OriginState.Item(request: try request(to: user, browser: browser), push: origin))
        }
    }

    /// Sends what may be sent.
    ///
    /// - Returns: the numbers of messages by user.
    private func send(at now: Instant) -> [String: Int] {
        var sent: [String: Int] = [:]
        while origin.room(at: now) > 0, let item = origin.popNext(at: now) {
            origin.didSend(to: item.request.recipient, at: now)
            sent[item.request.recipient.user?.text ?? "", default: 0] += 1
        }
        return sent
    }

    @Test func oneUserHasHalfOfTheWindowAtMost() throws {
        for number in 0..<99 { try answer(.accepted, to: "user\(number)") }
        try wait("noisy", count: 200)
        #expect(send(at: start) == ["noisy": 50])
        for number in 0..<20 { try wait("quiet\(number)", count: 1) }
        #expect(send(at: start).count == 20)
        // Overdue answers take no place from others', and the user's other messages do not wait here.
        for number in 20..<100 { try wait("quiet\(number)", count: 1) }
        let later = start + .milliseconds(1001)
        try answer(.accepted, to: "another", at: later)
        #expect(send(at: later)["noisy"] == nil)
        #expect(origin.removePostponed(at: later).count == 150)
        #expect(!origin.isStalled(at: later))
    }

    @Test func theFirstMessageMayBeToABrowserThatDoesNotAnswer() throws {
        try wait("noisy", count: 5)
        for user in 0..<20 { try wait("user\(user)", count: 1) }
        #expect(send(at: start) == ["noisy": 1])
        var now = start
        for count in [1, 2, 4, 0] {
            #expect(send(at: now).isEmpty)
            now = now + .milliseconds(1001)
            let sent = send(at: now)
            #expect(sent.count == count && sent["noisy"] == nil)
        }
        // Nobody gets an answer.
        let postponed = origin.removePostponed(at: now)
        #expect(postponed.count == 17)
        #expect(postponed.allSatisfy { $0.postponement.reason == WebPushVerdict.slow })
    }

    @Test func aRecipientWithoutAnswersGetsOneMessageAtATime() throws {
        for number in 0..<50 { try answer(.accepted, to: "user\(number)") }
        try wait("noisy", count: 2)
        #expect(send(at: start) == ["noisy": 2])
        let end = start + .seconds(30)
        try answer(.accepted, to: "quiet", at: end)
        let (recipient, size) = (try request(to: "noisy").recipient, origin.window.size)
        for _ in 0..<2 { origin.didLose(to: recipient, at: end) }
        #expect(origin.window.size == size)
        try wait("noisy", count: 5)
        #expect(send(at: end) == ["noisy": 1])
        #expect(
            origin.removePostponed(at: end).map(\.postponement)
                == Array(
                    repeating: OriginState.Postponement(
                        reason: WebPushVerdict.unanswered, pause: .seconds(30)), count: 4))
    }

    @Test func recipientsTakeTurns() throws {
        var line = OriginLine()
        for user in ["a", "a", "a", "b", "b", "c"] {
            line.append(OriginState.Item(request: try request(to: user), push: origin))
        }
        var users: [String?] = []
        while let item = line.popFirst(where: { $0.user?.text != "c" }) {
            users.append(item.request.recipient.user?.text)
        }
        #expect(users == ["a", "b", "a", "b", "a"])
        #expect(line.count == 1 && line.removeAll().count == 1 && line.isEmpty)
    }
}
