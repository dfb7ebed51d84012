import Turnstone
import Unix

/// What the looker knows of each player, in its own memory: reading 100,000 records takes a millisecond.
/// ``PlayerIndex`` keeps them on disk.
package struct PlayerRecords {
    let table: WordTable

    /// In bytes.
    static let size = 128

    /// The words of a record. Moments are milliseconds since 1970.
    enum Field: Int {
        case player
        /// 1 while the player has a device.
        case watched
        /// The slot of the last cycle that claimed the player.
        case claimed
        /// When the last successful look began.
        case looked
        /// The fingerprint of what that look found. The look's document holds the findings.
        case found
        /// The fingerprint that the player was last notified by.
        case judged
        /// No look before this moment.
        case notBefore
        /// How many looks failed in a row, plus ``unknownMark`` if OGS does not know the player.
        case failures
        /// OGS's entity tag: ``tagSize`` bytes, padded with zeros.
        case tag
        /// The shard of the player's mark, plus 1.
        case shard = 15
    }

    private static let tagSize = 56
    private static let unknownMark: Int64 = 256

    init(_ table: WordTable) { self.table = table }

    /// The number of records, and one more: valid numbers are 1 to `count - 1`.
    package var count: Int64 { Int64(table.count) + 1 }

    subscript(record: Int64, field: Field) -> Int64 {
        get { table[Int(record) - 1, field.rawValue] }
        nonmutating set { table[Int(record) - 1, field.rawValue] = newValue }
    }

    package func player(_ record: Int64) -> PlayerID? { PlayerID(number: self[record, .player]) }

    /// The player's record. Searches all of them.
    package func record(of player: PlayerID) -> Int64? {
        (1..<count).first { self[$0, .player] == player.number }
    }

    /// Adds a record for a player who has none.
    ///
    /// - Parameter place: an erased record to use again.
    func add(_ player: PlayerID, isWatched: Bool, shard: Int, in place: Int64?) -> Int64 {
        let record = place ?? Int64(table.append()) + 1
        self[record, .player] = player.number
        self[record, .watched] = isWatched ? 1 : 0
        self[record, .shard] = Int64(shard) + 1
        return record
    }

    /// Fills a record with zeros. No player has the number 0.
    package func erase(_ record: Int64) {
        for word in 0..<(Self.size / 8) { table[Int(record) - 1, word] = 0 }
    }

    /// Marks a record as watched, and forgets that the looks failed and what they found.
    func renew(_ record: Int64) {
        self[record, .watched] = 1
        forget(record)
    }

    /// Forgets that the looks failed, what they found and how that was judged.
    func forget(_ record: Int64) {
        self[record, .notBefore] = 0
        self[record, .failures] = 0
        self[record, .judged] = 0
        self[record, .found] = 0
    }

    /// Claims the players whose slot has come, in the order in which to look at them.
    ///
    /// A player's slots are `interval` apart, whenever within a slot the player was looked at (``Slots``). A
    /// request's look does not count.
    package func claim(at now: Timestamp, interval: Interval) -> [Claim] {
        let slots = Slots(at: now, interval: interval)
        var due = Due()
        var record: Int64 = 1
        while record < count {
            defer { record += 1 }
            guard self[record, .watched] == 1, let slot = slots.next(after: self[record, .claimed]),
                !isDelayed(record, at: slots.latest),
                let player = PlayerID(number: self[record, .player])
            else { continue }
            self[record, .claimed] = slot
            let hasFailed = self[record, .failures] > 0
            due.add(
                Claim(player: player, record: record, slot: slot, hasFailed: hasFailed),
                since: self[record, hasFailed ? .notBefore : .looked])
        }
        return due.inOrder
    }

    /// A moment further away than the player's failures allow comes from a clock that was ahead.
    private func isDelayed(_ record: Int64, at now: Int64) -> Bool {
        let left = self[record, .notBefore].saturatingSubtract(now)
        return left > 0 && left <= pause(record, after: self[record, .failures])
    }

    /// Whether the claim is still the player's newest: a later cycle may have taken the player over.
    package func isHeld(_ claim: Claim) -> Bool { self[claim.record, .claimed] == claim.slot }

    /// Releases an unused claim, unless a later cycle has taken the player over.
    package func release(_ claim: Claim) {
        if isHeld(claim) { self[claim.record, .claimed] = 0 }
    }

    /// Stops looking at a player who has no device, or whose record is another one.
    package func unwatch(_ record: Int64) { self[record, .watched] = 0 }

    /// When the look began whose findings the player's look document holds.
    package func looked(_ record: Int64) -> Timestamp {
        Timestamp(milliseconds: self[record, .looked])
    }

    /// Whether OGS has ever known the player.
    package func isKnown(_ record: Int64) -> Bool { self[record, .looked] > 0 }

    package func found(_ record: Int64) -> Int64 { self[record, .found] }
    package func judged(_ record: Int64) -> Int64 { self[record, .judged] }

    /// OGS's entity tag for what the last look found.
    package func tag(_ record: Int64) -> String? {
        let found = self[record, .found]
        let bytes = table.bytes(
            of: Int(record) - 1, from: Field.tag.rawValue, count: Self.tagSize / 8)
        return Self.tag(bytes[...], found)
    }

    private static func tag(_ bytes: ArraySlice<UInt8>, _ found: Int64) -> String? {
        let text = bytes.prefix { $0 != 0 }
        return text.isEmpty || found == 0 ? nil : String(decoding: text, as: UTF8.self)
    }

    /// Records what a look found. A tag of more than 56 bytes is dropped.
    package func recordLook(
        _ record: Int64, began: Timestamp, found: Int64, tag: String?
    ) {
        var bytes = Array((tag ?? "").utf8)
        if bytes.count > Self.tagSize { bytes = [] }
        bytes += [UInt8](repeating: 0, count: Self.tagSize - bytes.count)
        for word in 0..<(Self.tagSize / 8) {
            table[Int(record) - 1, Field.tag.rawValue + word] = bytes[(word * 8)..<(word * 8 + 8)]
                .reversed().reduce(0) { $0 << 8 | Int64($1) }
        }
        self[record, .found] = found
        recordUnchanged(record, lookBegan: began)
    }

    /// Records a look that found the same as the one before.
    package func recordUnchanged(_ record: Int64, lookBegan: Timestamp) {
        self[record, .looked] = lookBegan.milliseconds
        self[record, .failures] = 0
        self[record, .notBefore] = 0
    }

    /// Forgets what the last look found and its entity tag, because the look's document is lost. OGS is then
    /// asked for everything.
    package func forgetFound(_ record: Int64) { self[record, .found] = 0 }

    /// Records that the player was judged by the look with this fingerprint; 0 lets the player be judged
    /// again.
    package func recordJudgement(_ record: Int64, _ fingerprint: Int64) {
        self[record, .judged] = fingerprint
    }

    /// Delays a player whose look failed: by 1 minute, doubling to an hour.
    package func recordFailure(_ record: Int64, at now: Timestamp) {
        guard !isUnknown(record) else { return recordUnknownPlayer(record, at: now) }
        delay(record, failures: min(self[record, .failures].saturatingAdd(1), 7), now)
    }

    /// Delays a player whom OGS does not know: by 1 minute, doubling to a day. If OGS knew the player before,
    /// the limit is an hour, because that may be a mistake of OGS or of the configuration.
    package func recordUnknownPlayer(_ record: Int64, at now: Timestamp) {
        let known = isUnknown(record) ? self[record, .failures] - Self.unknownMark : 0
        delay(record, failures: min(known.saturatingAdd(1), 12) + Self.unknownMark, now)
    }

    private func delay(_ record: Int64, failures: Int64, _ now: Timestamp) {
        self[record, .failures] = failures
        self[record, .notBefore] = now.milliseconds.saturatingAdd(pause(record, after: failures))
    }

    /// How long a number of failures delays a player, in milliseconds.
    private func pause(_ record: Int64, after failures: Int64) -> Int64 {
        let isUnknown = failures > Self.unknownMark
        let count = isUnknown ? failures - Self.unknownMark : failures
        return UnknownPlayer.pause(after: count, isKnown: !isUnknown || isKnown(record))
            .milliseconds
    }

    package func isUnknown(_ record: Int64) -> Bool { self[record, .failures] > Self.unknownMark }

    func lookRecord(_ record: Int64, isWatched: Bool) -> LookRecord {
        let isUnknown = isUnknown(record)
        let failures = self[record, .failures]
        let notBefore = self[record, .notBefore]
        return LookRecord(
            isWatched: isWatched,
            looked: isKnown(record) ? looked(record) : nil,
            failures: isUnknown ? failures - Self.unknownMark : failures, isUnknown: isUnknown,
            notBefore: notBefore > 0 ? Timestamp(milliseconds: notBefore) : nil)
    }

    /// When OGS may next be asked about a player whom it does not know, and how many looks found that.
    package func unknown(_ record: Int64) -> (until: Timestamp, count: Int64) {
        (
            Timestamp(milliseconds: self[record, .notBefore]),
            max(0, self[record, .failures] - Self.unknownMark)
        )
    }

    /// Differs if the players or the watched ones differ. Independent of the order of the records.
    var sum: Int64 {
        var sum: Int64 = 0
        for record in 1..<count {
            sum &+= mixed(self[record, .player], self[record, .watched])
        }
        return sum
    }
}

extension PlayerRecords {
    /// What a request may read of a player's record while somebody else is the looker. It may be out of date.
    package struct Glimpse {
        /// When the last successful look began.
        package let looked: Timestamp
        /// The fingerprint of what that look found; 0 if that is unknown.
        package let found: Int64
        package let tag: String?
        /// The slot of the last cycle that claimed the player; `nil` if the looks fail.
        package let claimed: Timestamp?

        /// - Returns: `nil` if the bytes are those of another player's record.
        init?(_ bytes: [UInt8], of player: PlayerID) {
            guard bytes.count == PlayerRecords.size else { return nil }
            func word(_ field: Field) -> Int64 {
                bytes[(field.rawValue * 8)..<(field.rawValue * 8 + 8)]
                    .reversed().reduce(0) { $0 << 8 | Int64($1) }
            }
            guard word(.player) == player.number else { return nil }
            looked = Timestamp(milliseconds: word(.looked))
            found = word(.found)
            let start = Field.tag.rawValue * 8
            tag = PlayerRecords.tag(bytes[start..<(start + PlayerRecords.tagSize)], found)
            claimed = word(.failures) == 0 ? Timestamp(milliseconds: word(.claimed)) : nil
        }
    }
}

/// Mixes two words into one, so that a change of either shows.
func mixed(_ one: Int64, _ other: Int64) -> Int64 {
    var mixed = UInt64(bitPattern: one) &* 0x9e37_79b9_7f4a_7c15
    mixed ^= mixed >> 32
    mixed = (mixed ^ UInt64(bitPattern: other)) &* 0xff51_afd7_ed55_8ccd
    return Int64(bitPattern: mixed ^ (mixed >> 32))
}
