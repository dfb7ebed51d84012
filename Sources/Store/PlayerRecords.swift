import Turnstone
import Unix

/// The player index as mapped memory: reading 100,000 records takes a millisecond.
package struct PlayerRecords {
    private let file: MappedFile
    /// The number of records, the header included: valid indices are 1 to `count - 1`.
    package let count: Int64

    /// The words of a record, and the byte at which each begins. Moments are milliseconds since 1970.
    enum Field: Int {
        case player = 0
        /// 1 while the player has a device.
        case watched = 8
        /// The slot of the last cycle that claimed the player.
        case claimed = 16
        /// When the last successful look began.
        case looked = 24
        /// The fingerprint of what that look found. The look's document holds the findings.
        case found = 32
        /// The fingerprint that the player was last notified by.
        case judged = 40
        /// No look before this moment.
        case notBefore = 48
        /// How many looks failed in a row, plus ``unknownMark`` if OGS does not know the player.
        case failures = 56
        /// OGS's entity tag: ``tagSize`` bytes, padded with zeros.
        case tag = 64
        /// When a request began to look; 0 if none is looking.
        case asked = 120
    }

    /// The words of the header after its first one, and the byte at which each begins.
    private enum HeaderField: Int {
        /// A fingerprint of the index and the users' folders when they were last compared.
        case comparedSign = 8
        /// The newest change to a users' folder at that time.
        case comparedUntil = 16
        /// The push services that could be reached at that time: ``PushServiceSet/bits``.
        case comparedServices = 24
    }

    private static let tagSize = 56
    private static let unknownMark: Int64 = 256

    init(_ file: MappedFile) {
        count = Int64(file.size / PlayerIndex.recordSize)
        self.file = file
    }

    private subscript(record: Int64, field: Field) -> Int64 {
        get { file[Int(record) * PlayerIndex.recordSize + field.rawValue] }
        nonmutating set { file[Int(record) * PlayerIndex.recordSize + field.rawValue] = newValue }
    }

    /// The player's record: `hint` if it is right, otherwise the result of a search through all records.
    package func record(of player: PlayerID, hint: Int64?) -> Int64? {
        if let hint, hint > 0, hint < count, self[hint, .player] == player.number { return hint }
        return first(of: player)
    }

    func first(of player: PlayerID) -> Int64? {
        var record: Int64 = 1
        while record < count {
            if self[record, .player] == player.number { return record }
            record += 1
        }
        return nil
    }

    /// Claims the players whose slot has come, in the order in which to look at them.
    ///
    /// A player's slots are `interval` apart, whenever within a slot the player was looked at (``Slots``). A
    /// request's look does not count. The caller must hold the index's lock.
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

    /// Claims one player for a request, unless another request or a cycle is looking. The caller must hold
    /// the index's lock.
    ///
    /// - Parameter patience: the longest time that a request looks. A request that began earlier was killed.
    package func claim(_ record: Int64, at now: Timestamp, patience: Interval) -> Bool {
        func isRecent(_ moment: Int64) -> Bool {
            moment > (now - patience).milliseconds && moment <= now.milliseconds
        }
        let isCycleLooking =
            isRecent(self[record, .claimed]) && !isRecent(self[record, .looked])
            && self[record, .failures] == 0
        guard !isRecent(self[record, .asked]), !isCycleLooking else { return false }
        self[record, .asked] = now.milliseconds
        return true
    }

    /// Releases a request's claim.
    package func endRequest(_ record: Int64) { self[record, .asked] = 0 }

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
        let place = Int(record) * PlayerIndex.recordSize + Field.tag.rawValue
        let bytes = file.bytes(at: place, count: Self.tagSize).prefix { $0 != 0 }
        guard !bytes.isEmpty, found != 0, found == self[record, .found] else { return nil }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Records what a look found. A tag of more than 56 bytes is dropped.
    ///
    /// The fingerprint is 0 while the tag is written. Otherwise a program killed in between could leave a tag
    /// with another look's findings, and OGS would keep calling those unchanged.
    package func recordLook(
        _ record: Int64, began: Timestamp, found: Int64, tag: String?
    ) {
        var bytes = Array((tag ?? "").utf8)
        if bytes.count > Self.tagSize { bytes = [] }
        bytes += [UInt8](repeating: 0, count: Self.tagSize - bytes.count)
        self[record, .found] = 0
        file.store(bytes, at: Int(record) * PlayerIndex.recordSize + Field.tag.rawValue)
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
        let longest: Interval = isUnknown && !isKnown(record) ? .hours(24) : .hours(1)
        return min(
            Interval.minutes(1).milliseconds << (min(max(count, 1), 12) - 1), longest.milliseconds)
    }

    private func isUnknown(_ record: Int64) -> Bool { self[record, .failures] > Self.unknownMark }

    package func playerRecord(_ record: Int64) -> PlayerRecord {
        let isUnknown = isUnknown(record)
        let failures = self[record, .failures]
        let notBefore = self[record, .notBefore]
        return PlayerRecord(
            isWatched: self[record, .watched] == 1,
            looked: isKnown(record) ? looked(record) : nil,
            failures: isUnknown ? failures - Self.unknownMark : failures, isUnknown: isUnknown,
            notBefore: notBefore > 0 ? Timestamp(milliseconds: notBefore) : nil)
    }

    /// When OGS may next be asked about a player whom it does not know; `nil` if it may be asked now.
    package func unknownUntil(_ record: Int64, at now: Timestamp) -> Timestamp? {
        guard isUnknown(record), isDelayed(record, at: now.milliseconds) else { return nil }
        return Timestamp(milliseconds: self[record, .notBefore])
    }
}

extension PlayerRecords {
    /// Differs if the watched players differ.
    var sign: Int64 {
        var sign = count
        for record in 1..<max(1, count) {
            // Independent of the order, because records may be written in any.
            sign &+= mixed(self[record, .player], self[record, .watched])
        }
        return sign
    }

    func players() -> (watched: Set<Int64>, unwatched: Set<Int64>) {
        var watched: Set<Int64> = []
        var unwatched: Set<Int64> = []
        for record in 1..<max(1, count) {
            let player = self[record, .player]
            if self[record, .watched] == 1 {
                watched.insert(player)
            } else {
                unwatched.insert(player)
            }
        }
        return (watched, unwatched)
    }

    var comparedSign: Int64 { file[HeaderField.comparedSign.rawValue] }
    var comparedUntil: Int64 { file[HeaderField.comparedUntil.rawValue] }
    var comparedServices: Int64 { file[HeaderField.comparedServices.rawValue] }

    /// Records that the index was compared with the users' folders.
    func recordComparison(_ sign: Int64, until moment: Int64, with services: PushServiceSet) {
        file[HeaderField.comparedSign.rawValue] = 0
        file[HeaderField.comparedUntil.rawValue] = moment
        file[HeaderField.comparedServices.rawValue] = services.bits
        file[HeaderField.comparedSign.rawValue] = sign
    }
}

/// Mixes two words into one, so that a change of either shows.
func mixed(_ one: Int64, _ other: Int64) -> Int64 {
    var mixed = UInt64(bitPattern: one) &* 0x9e37_79b9_7f4a_7c15
    mixed ^= mixed >> 32
    mixed = (mixed ^ UInt64(bitPattern: other)) &* 0xff51_afd7_ed55_8ccd
    return Int64(bitPattern: mixed ^ (mixed >> 32))
}
