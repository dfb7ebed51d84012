import Crypto
import Turnstone

/// Names a queue: the push service that it is for, and which of the service's queues it is.
///
/// `TURNSTONE_SHARDS` says how many queues each service has. A user's pushes of one service are always in the
/// same one, so that they stay in order. A push without a user goes to the queue of its token or channel.
package struct QueueName: Hashable, Sendable {
    package let service: PushService
    /// From 1.
    package let number: Int
    /// How many queues each service had when it was named.
    package let count: Int

    package init(_ service: PushService, _ number: Int = 1, of count: Int = 1) {
        self.service = service
        self.number = number
        self.count = count
    }

    /// Reads the form that ``text`` writes; `nil` for any other.
    @export(interface)
    package init?(_ text: String) {
        let parts = text.utf8.split(separator: UInt8(ascii: "-"), omittingEmptySubsequences: false)
            .map { String(decoding: Array($0), as: UTF8.self) }
        guard let service = PushService(rawValue: parts[0]) else { return nil }
        if parts.count == 1 {
            self.init(service)
            return
        }
        let figures = parts[1].utf8.split(separator: UInt8(ascii: "o"), maxSplits: 1)
        guard parts.count == 2, figures.count == 2, figures[1].first == UInt8(ascii: "f"),
            let number = Int(String(decoding: Array(figures[0]), as: UTF8.self)),
            let count = Int(String(decoding: Array(figures[1].dropFirst()), as: UTF8.self)),
            count > 1, number >= 1, number <= count
        else { return nil }
        self.init(service, number, of: count)
        if self.text != text { return nil }
    }

    /// `apns` for a service's only queue, `apns-2of4` for the second of four.
    package var text: String {
        count == 1 ? service.rawValue : "\(service.rawValue)-\(number)of\(count)"
    }

    /// Its form in `TURNSTONE_QUEUE`: `apns`, or `apns-2`.
    package var setting: String {
        count == 1 ? service.rawValue : "\(service.rawValue)-\(number)"
    }
}

extension QueueName {
    /// Which of `count` queues a user's pushes are in, from 1.
    package static func number(of user: UserID, among count: Int) -> Int {
        count == 1 ? 1 : number(of: user.text, among: count)
    }

    /// Which of `count` queues has the pushes to a device or channel that name no user, from 1.
    package static func number(of aim: Delivery.Aim, among count: Int) -> Int {
        guard count > 1 else { return 1 }
        switch aim {
        case .device(let token): return number(of: token.text, among: count)
        case .channel(let channel): return number(of: channel.text, among: count)
        }
    }

    private static func number(of text: String, among count: Int) -> Int {
        let bytes = SHA256.hash(Array(text.utf8)).prefix(4)
        return number(of: bytes.reduce(0) { $0 << 8 | UInt32($1) }, among: count)
    }

    /// The same from the hex digits of a digest of the user's id, as the names of held boxes and of series
    /// have them.
    static func number(ofDigest text: String, among count: Int) -> Int? {
        var start: UInt32 = 0
        guard text.utf8.count >= 8 else { return nil }
        for byte in text.utf8.prefix(8) {
            switch byte {
            case UInt8(ascii: "0")...UInt8(ascii: "9"):
                start = start << 4 | UInt32(byte - UInt8(ascii: "0"))
            case UInt8(ascii: "a")...UInt8(ascii: "f"):
                start = start << 4 | UInt32(byte - UInt8(ascii: "a") + 10)
            default: return nil
            }
        }
        return number(of: start, among: count)
    }

    private static func number(of start: UInt32, among count: Int) -> Int {
        Int(start % UInt32(count)) + 1
    }
}
