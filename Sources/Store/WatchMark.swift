import Turnstone
import Unix

/// What is known of the looks at one player: the content of the player's mark in `watch/`. A new mark is
/// empty.
package struct WatchMark: Equatable, Sendable {
    /// The slot of the last cycle that looked at the player.
    package internal(set) var slot = Timestamp.never
    /// When the look began whose findings the player's look document holds: the last successful one.
    package private(set) var looked = Timestamp.never
    /// The fingerprint of what that look found. The look's document holds the findings.
    package private(set) var found: Int64 = 0
    /// The fingerprint that the player was last notified by; 0 lets the player be judged again.
    package var judged: Int64 = 0
    /// No look before this moment.
    private(set) var notBefore = Timestamp.never
    /// How many looks failed in a row, plus ``unknownMark`` if OGS does not know the player.
    private(set) var failures: Int64 = 0
    /// When a request began to look; ``Timestamp/never`` if none is looking.
    private var asked = Timestamp.never
    /// OGS's entity tag for what the last look found: at most ``tagSize`` bytes.
    private var entityTag: [UInt8] = []

    private static let unknownMark: Int64 = 256
    private static let tagSize = 56

    package init() {}

    /// Whether OGS has ever known the player.
    package var isKnown: Bool { looked > .never }

    /// OGS's entity tag for what the last look found.
    package var tag: String? {
        guard found != 0, !entityTag.isEmpty else { return nil }
        return String(decoding: entityTag, as: UTF8.self)
    }
}

// MARK: Looks

extension WatchMark {
    /// Records what a look found. A tag of more than 56 bytes is dropped.
    package mutating func recordLook(began: Timestamp, found: Int64, tag: String?) {
        let bytes = Array((tag ?? "").utf8)
        entityTag = bytes.count > Self.tagSize || bytes.contains(0) ? [] : bytes
        self.found = found
        recordUnchanged(lookBegan: began)
    }

    /// Records a look that found the same as the one before.
    package mutating func recordUnchanged(lookBegan: Timestamp) {
        looked = lookBegan
        forgetFailures()
    }

    /// Forgets what the last look found and its entity tag, because the look's document is lost. OGS is then
    /// asked for everything.
    package mutating func forgetFound() { found = 0 }

    /// Delays a player whose look failed: by 1 minute, doubling to an hour.
    package mutating func recordFailure(at now: Timestamp) {
        guard !isUnknown else { return recordUnknownPlayer(at: now) }
        delay(min(failures.saturatingAdd(1), 7), now)
    }

    /// Delays a player whom OGS does not know: by 1 minute, doubling to a day. If OGS knew the player before,
    /// the limit is an hour, because that may be a mistake of OGS or of the configuration.
    package mutating func recordUnknownPlayer(at now: Timestamp) {
        let known = isUnknown ? failures - Self.unknownMark : 0
        delay(min(known.saturatingAdd(1), 12) + Self.unknownMark, now)
    }

    private mutating func delay(_ failures: Int64, _ now: Timestamp) {
        self.failures = failures
        notBefore = now + Self.pause(after: failures, isKnown: isKnown)
    }

    /// Lets a player whose looks fail be looked at in the next cycle.
    mutating func forgetFailures() {
        failures = 0
        notBefore = .never
    }

    /// Whether looks fail, or no look is to be made for a while.
    var isPutOff: Bool { failures != 0 || notBefore != .never }

    /// When OGS may next be asked about a player whom it does not know; `nil` if it may be asked now.
    package func unknownUntil(at now: Timestamp) -> Timestamp? {
        isUnknown && isDelayed(at: now) ? notBefore : nil
    }

    /// What the player index remembers of the looks.
    var delay: (looked: Timestamp, notBefore: Timestamp, failures: Int64) {
        (looked, notBefore, failures)
    }

    func isDelayed(at now: Timestamp) -> Bool {
        Self.isDelayed(until: notBefore, after: failures, isKnown: isKnown, at: now)
    }

    /// Whether the player is put off. A moment beyond the longest pause after these failures was written
    /// while the clock was ahead, and does not count.
    static func isDelayed(
        until moment: Timestamp, after failures: Int64, isKnown: Bool, at now: Timestamp
    ) -> Bool {
        moment > now && moment - now <= pause(after: failures, isKnown: isKnown)
    }

    /// How long a number of failures delays a player.
    private static func pause(after failures: Int64, isKnown: Bool) -> Interval {
        let isUnknown = failures > unknownMark
        let count = isUnknown ? failures - unknownMark : failures
        let longest: Interval = isUnknown && !isKnown ? .hours(24) : .hours(1)
        return min(.minutes(1 << (min(max(count, 1), 12) - 1)), longest)
    }

    private var isUnknown: Bool { failures > Self.unknownMark }

    package var playerRecord: PlayerRecord {
        PlayerRecord(
            looked: isKnown ? looked : nil,
            failures: isUnknown ? failures - Self.unknownMark : failures, isUnknown: isUnknown,
            notBefore: notBefore > .never ? notBefore : nil)
    }
}

// MARK: Requests

extension WatchMark {
    /// Claims the player for a request, unless another request or a cycle is looking.
    ///
    /// - Parameter patience: the longest time that a request looks. A request that began earlier was killed.
    package mutating func claimForRequest(at now: Timestamp, patience: Interval) -> Bool {
        func isRecent(_ moment: Timestamp) -> Bool { moment > now - patience && moment <= now }
        let isCycleLooking = isRecent(slot) && !isRecent(looked) && failures == 0
        guard !isRecent(asked), !isCycleLooking else { return false }
        asked = now
        return true
    }

    /// Releases a request's claim.
    package mutating func endRequest() { asked = .never }
}

// MARK: In the file

extension WatchMark {
    /// In bytes.
    static let size = 128
    private static let magic = Int64(littleEndian: 0x31_4b_52_41_4d_57_53_54)  // "TSWMARK1"

    /// - Returns: `nil` for bytes that are neither a mark nor empty, as of a mark that is being written.
    init?(_ bytes: [UInt8]) {
        guard !bytes.isEmpty else { return }
        guard bytes.count == Self.size else { return nil }
        let words = Words.all(in: bytes)
        guard words[0] == Self.magic, words[15] == Words.sum(words[..<15]) else { return nil }
        slot = Timestamp(milliseconds: words[1])
        looked = Timestamp(milliseconds: words[2])
        found = words[3]
        judged = words[4]
        notBefore = Timestamp(milliseconds: words[5])
        failures = words[6]
        asked = Timestamp(milliseconds: words[7])
        entityTag = Array(bytes[64..<120].prefix { $0 != 0 })
    }

    /// A mark of version 1 of the index, whose records were marks.
    init(record words: ArraySlice<Int64>, tag: [UInt8]) {
        let first = words.startIndex
        slot = Timestamp(milliseconds: words[first + 2])
        looked = Timestamp(milliseconds: words[first + 3])
        found = words[first + 4]
        judged = words[first + 5]
        notBefore = Timestamp(milliseconds: words[first + 6])
        failures = words[first + 7]
        entityTag = Array(tag.prefix { $0 != 0 })
    }

    var bytes: [UInt8] {
        let head = [
            Self.magic, slot.milliseconds, looked.milliseconds, found, judged,
            notBefore.milliseconds,
            failures, asked.milliseconds,
        ]
        let padding = [UInt8](repeating: 0, count: Self.tagSize - entityTag.count)
        let bytes = Words.bytes(of: head) + entityTag + padding
        return bytes + Words.bytes(of: [Words.sum(Words.all(in: bytes)[...])])
    }
}
