import Turnstone
import Unix

/// The player index as memory: reading 100,000 records takes a millisecond.
package struct PlayerRecords {
    private let file: MappedFile
    /// How many records there are, the header included: valid ones are 1 to `count - 1`.
    package let count: Int64

    /// A record's words and the byte where each begins; moments are milliseconds since 1970.
    enum Field: Int {
        case player = 0
        /// 1 while the player has a device.
        case watched = 8
        /// The slot that a cycle last looks for, or looked for.
        case claimed = 16
        /// When the last look that found anything out began.
        case looked = 24
        /// The fingerprint of what it found, which the look's document holds.
        case found = 32
        /// The fingerprint that the player was last notified by.
        case judged = 40
        /// No look before this moment.
        case notBefore = 48
        /// How many looks failed in a row; ``unknownMark`` more where OGS does not know the player.
        case failures = 56
        /// OGS's entity tag, ``tagSize`` bytes, filled up with zeros.
        case tag = 64
        /// When a request took it upon itself to look, as long as it looks.
        case asked = 120
    }

    /// The header's words after its first, and the byte where each begins.
    private enum HeaderField: Int {
        /// What the index and the users' folders looked like when they were last compared.
        case comparedSign = 8
        /// The newest change to a users' folder then.
        case comparedUntil = 16
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

    /// The player's record, where `hint` is it or else by looking through all.
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

    /// Takes the players whose slot has come, in the order in which they are to be looked at.
    ///
    /// A player's slots are `interval` apart, whenever in its slot the player was looked at: ``Slots``. A request's
    /// look does not count. Call it with the index locked.
    package func claim(at now: Timestamp, interval: Interval) -> [Claim] {
        let slots = Slots(at: now, interval: interval)
        var due = Due()
        var record: Int64 = 1
        while record < count {
            defer { record += 1 }
            guard self[record, .watched] == 1, let slot = slots.next(after: self[record, .claimed]),
                !isPutOff(record, at: slots.latest),
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

    /// A moment further away than the player's failures put it is the work of a clock that was ahead.
    private func isPutOff(_ record: Int64, at now: Int64) -> Bool {
        let left = self[record, .notBefore].saturatingSubtract(now)
        return left > 0 && left <= pause(record, after: self[record, .failures])
    }

    /// Whether the claim is still the newest one of its player: a later cycle may have taken its player over.
    package func isHeld(_ claim: Claim) -> Bool { self[claim.record, .claimed] == claim.slot }

    /// Gives back a claim on which nothing was done, unless a later cycle has taken its player over.
    package func release(_ claim: Claim) {
        if isHeld(claim) { self[claim.record, .claimed] = 0 }
    }

    /// Takes one player for a request, unless another one is looking, or a cycle is. Call it with the index locked.
    ///
    /// - Parameter patience: no request looks for longer; one that did has been killed.
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

    /// Ends a request's look.
    package func endRequest(_ record: Int64) { self[record, .asked] = 0 }

    /// Ends looking at a player who has no device, or whose record is another one.
    package func unwatch(_ record: Int64) { self[record, .watched] = 0 }

    /// When the look began whose findings the player's look document holds.
    package func looked(_ record: Int64) -> Timestamp {
        Timestamp(milliseconds: self[record, .looked])
    }

    /// Whether OGS has told of the player before.
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

    /// Notes what a look found. A tag of more than 56 bytes is not kept.
    ///
    /// Nothing counts as found while the tag is written: whoever is killed in between must not leave a tag with
    /// what another look found, which OGS would go on calling unchanged.
    package func note(_ record: Int64, lookBegan: Timestamp, found: Int64, tag: String?) {
        var bytes = Array((tag ?? "").utf8)
        if bytes.count > Self.tagSize { bytes = [] }
        bytes += [UInt8](repeating: 0, count: Self.tagSize - bytes.count)
        self[record, .found] = 0
        file.store(bytes, at: Int(record) * PlayerIndex.recordSize + Field.tag.rawValue)
        self[record, .found] = found
        noteUnchanged(record, lookBegan: lookBegan)
    }

    /// Notes a look that found what the one before it had found.
    package func noteUnchanged(_ record: Int64, lookBegan: Timestamp) {
        self[record, .looked] = lookBegan.milliseconds
        self[record, .failures] = 0
        self[record, .notBefore] = 0
    }

    /// Forgets what the last look found, and its entity tag: the look's document is lost, and OGS has to be asked for all
    /// of it.
    package func forgetFound(_ record: Int64) { self[record, .found] = 0 }

    package func noteJudged(_ record: Int64, _ fingerprint: Int64) {
        self[record, .judged] = fingerprint
    }

    /// Puts off a player whose looks fail: 1 minute, doubling to an hour.
    package func noteFailure(_ record: Int64, at now: Timestamp) {
        guard !isUnknown(record) else { return noteUnknown(record, at: now) }
        putOff(record, failures: min(self[record, .failures].saturatingAdd(1), 7), now)
    }

    /// Puts off a player whom OGS does not know: 1 minute, doubling to a day. Of one whom it knew, to an hour: that may be a
    /// mistake of its, or of the configuration.
    package func noteUnknown(_ record: Int64, at now: Timestamp) {
        let known = isUnknown(record) ? self[record, .failures] - Self.unknownMark : 0
        putOff(record, failures: min(known.saturatingAdd(1), 12) + Self.unknownMark, now)
    }

    private func putOff(_ record: Int64, failures: Int64, _ now: Timestamp) {
        self[record, .failures] = failures
        self[record, .notBefore] = now.milliseconds.saturatingAdd(pause(record, after: failures))
    }

    /// How long so many failures put a player off, in milliseconds.
    private func pause(_ record: Int64, after failures: Int64) -> Int64 {
        let isUnknown = failures > Self.unknownMark
        let count = isUnknown ? failures - Self.unknownMark : failures
        let longest: Interval = isUnknown && !isKnown(record) ? .hours(24) : .hours(1)
        return min(
            Interval.minutes(1).milliseconds << (min(max(count, 1), 12) - 1), longest.milliseconds)
    }

    private func isUnknown(_ record: Int64) -> Bool { self[record, .failures] > Self.unknownMark }

    /// Until when OGS is not asked again about a player whom it does not know; `nil` where it may be asked.
    package func unknownUntil(_ record: Int64, at now: Timestamp) -> Timestamp? {
        guard isUnknown(record), isPutOff(record, at: now.milliseconds) else { return nil }
        return Timestamp(milliseconds: self[record, .notBefore])
    }
}

extension PlayerRecords {
    /// Differs where other players are watched.
    var sign: Int64 {
        var sign = count
        for record in 1..<max(1, count) {
            // In no order: records may be written in any.
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

    func noteCompared(_ sign: Int64, until moment: Int64) {
        file[HeaderField.comparedSign.rawValue] = 0
        file[HeaderField.comparedUntil.rawValue] = moment
        file[HeaderField.comparedSign.rawValue] = sign
    }
}

/// One word made of two, so that either one's change shows.
func mixed(_ one: Int64, _ other: Int64) -> Int64 {
    var mixed = UInt64(bitPattern: one) &* 0x9e37_79b9_7f4a_7c15
    mixed ^= mixed >> 32
    mixed = (mixed ^ UInt64(bitPattern: other)) &* 0xff51_afd7_ed55_8ccd
    return Int64(bitPattern: mixed ^ (mixed >> 32))
}

/// A player whom this cycle has taken upon itself to look at.
package struct Claim: Equatable, Sendable {
    package let player: PlayerID
    package let record: Int64
    /// What the record says while nobody else has claimed the player.
    let slot: Int64
    /// Whether the last look at the player failed.
    package let hasFailed: Bool
}
