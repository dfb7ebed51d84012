import JSON
import PushServices
import Signatures
import TestSupport
import Testing
import Turnstone
import Unix

@testable import WebPush

/// A simulated push service with an origin of its own.
final class Service {
    let simulator: Simulator
    let origin: String

    /// - Parameter first: another one, whose certificates it has.
    init(like first: Service? = nil, quiet: Bool = false) throws {
        let options = ["--services", "apns,web"] + (quiet ? ["--quiet-journal"] : [])
        simulator = try Simulator(options, like: first?.simulator)
        origin = try #require(simulator.addresses["web"]?.string)
    }

    /// Lets the service answer the messages to a browser with a fault.
    func fail(_ browser: PushSubscription, _ fault: JSONObject) throws {
        var command = fault
        command["do"] = "web-fault"
        let id = browser.endpoint.text.split(separator: "/").last ?? ""
        command["token"] = .string(String(id))
        try simulator.perform(command)
    }

    func subscribe(key: String? = nil) throws -> PushSubscription {
        var command: JSONObject = ["do": "web-subscription"]
        command["key"] = key.map { .string($0) }
        return try PushSubscription(
            #require(try simulator.perform(command)["subscription"]))
    }

    func report() throws -> JSONObject {
        try #require(try simulator.perform(["do": "report"])["web"]?.object)
    }

    func pushes() throws -> [JSONObject] {
        try report()["pushes"]?.array?.compactMap(\.object) ?? []
    }

    func end() { _ = try? simulator.perform(["do": "end"]) }
}

/// A sender for some services.
final class SenderStage {
    let sender: WebPushSender
    let tokens = Tokens()
    private(set) var verdicts: [Int: WebPushVerdict] = [:]

    /// Makes the tokens.
    final class Tokens {
        /// The origins whose tokens have expired.
        var expired: Set<String> = []
        /// Whether a rejected token is replaced by a good one.
        var renews = false
        var failure: Failure?
        private var known: [String: VAPIDToken] = [:]
        private let key = try? ES256PrivateKey.generate()

        func token(_ origin: String, rejected: String?) throws(Failure) -> VAPIDToken {
            if let failure { throw failure }
            guard let key else { throw .misconfigured("no key") }
            if let known = known[origin], known.header != rejected || !renews { return known }
            let isExpired = expired.contains(origin) && !(renews && rejected != nil)
            let token = try VAPIDToken(
                origin: origin, subject: "mailto:push@example.org", key: key,
                at: isExpired ? Timestamp.systemNow - .days(3) : .systemNow)
            known[origin] = token
            return token
        }
    }

    init(
        _ services: [Service], others: [String] = [], mayBePrivate: Bool = true,
        patience: Interval = .seconds(30), isVouchedFor: Bool = false
    ) throws {
        let hosts = (services.map(\.origin) + others)
            .map { String($0.dropFirst("https://".count)) }.joined(separator: ",")
        var values = [
            "VAPID_SUBJECT": "mailto:push@example.org", "WEBPUSH_HOSTS": hosts,
            "WEBPUSH_CA_FILE": services[0].simulator.addresses["ca"]?.string ?? "",
        ]
        if mayBePrivate { values["WEBPUSH_PRIVATE_HOSTS"] = hosts }
        let settings = try #require(
            try WebPushSettings(WebPushSettingsTests.variables(values)))
        sender = try WebPushSender(settings, patience: patience, isVouchedFor: isVouchedFor) {
            [tokens] (origin, rejected) throws(Failure) in
            try tokens.token(origin, rejected: rejected)
        }
    }

    func submit(
        _ number: Int, to browser: PushSubscription, of user: String? = nil,
        title: String = "Hello"
    ) throws {
        let content = PushContent(
            type: .alert, priority: 10, collapseID: "turn",
            payload: Payload(aps: ["alert": ["title": .string(title)], "sound": "default"]))
        let message = try WebPushMessage(content, home: "https://example.org")
        sender.submit(
            WebPushRequest(
                message, to: browser, of: user.flatMap { UserID($0) },
                expires: .systemNow + .hours(1)),
            for: Numbered(number))
    }

    private final class Numbered {
        let number: Int
        init(_ number: Int) { self.number = number }
    }

    /// Lets the sender work until `isOver` returns `true`.
    func play(
        _ location: SourceLocation = #_sourceLocation, until isOver: () throws -> Bool
    ) throws {
        let end = Instant.now + .seconds(20)
        while Instant.now < end {
            for settled in try sender.exchange() {
                let number = try #require((settled.push as? Numbered)?.number)
                #expect(verdicts[number] == nil, "a second verdict", sourceLocation: location)
                verdicts[number] = settled.verdict
            }
            if try isOver() { return }
            sender.wait(upTo: .milliseconds(20))
        }
        Issue.record("it does not end: \(verdicts.count) verdicts", sourceLocation: location)
    }
}
