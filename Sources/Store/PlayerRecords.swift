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
        /// When a cycle last took it upon itself to look.
        case claimed = 16
        /// When the last look that found anything out began.
        case looked = 24
        /// The fingerprint of what it found, which the look's document holds.
        case found = 32
        /// The fingerprint that the player was last notified by.
        case judged = 40
        /// No look before this moment.
        case notBefore = 48
        case failures = 56
        /// OGS's entity tag, 64 bytes, filled up with zeros.
        case tag = 64
    }

    /// The header's words after its first, and the byte where each begins.
    private enum HeaderField: Int {
        /// What the index and the users' folders looked like when they were last compared.
        case comparedSign = 8
        /// The newest change to a users' folder then.
        case comparedUntil = 16
    }

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

    /// Takes the players who are due, those not looked at for longest first.
    ///
    /// A player looked at or claimed less than `interval` ago is not due; a moment in the future is a
    /// clock that was set back, and counts as long ago. Call it with the index locked.
    package func claim(at now: Timestamp, interval: Interval) -> [Claim] {
        var due: [Claim] = []
        let edge = now.milliseconds - interval.milliseconds
        let furthest = now.milliseconds + Interval.hours(24).milliseconds
        func isRecent(_ moment: Int64) -> Bool { moment > edge && moment <= now.milliseconds }
        var record: Int64 = 1
        while record < count {
            defer { record += 1 }
            guard self[record, .watched] == 1, !isRecent(self[record, .claimed]),
                !isRecent(self[record, .looked]),
                !(now.milliseconds + 1..<furthest).contains(self[record, .notBefore]),
                let player = PlayerID(number: self[record, .player])
            else { continue }
            due.append(Claim(player: player, record: record, looked: self[record, .looked]))
        }
        due.sort { ($0.looked, $0.record) < ($1.looked, $1.record) }
        for claim in due { self[claim.record, .claimed] = now.milliseconds }
        return due
    }

    /// Takes one player, unless somebody did less than `interval` ago. Call it with the index locked.
    package func claim(_ record: Int64, at now: Timestamp, interval: Interval) -> Bool {
        let claimed = self[record, .claimed]
        let edge = now.milliseconds - interval.milliseconds
        guard claimed <= edge || claimed > now.milliseconds else { return false }
        self[record, .claimed] = now.milliseconds
        return true
    }

    /// Gives back a claim on which nothing was done.
    package func release(_ record: Int64) { self[record, .claimed] = 0 }

    /// Ends looking at a player who has no device, or whose record is another one.
    package func unwatch(_ record: Int64) { self[record, .watched] = 0 }

    /// When the look began whose findings the player's look document holds.
    package func looked(_ record: Int64) -> Timestamp {
        Timestamp(milliseconds: self[record, .looked])
    }

    package func found(_ record: Int64) -> Int64 { self[record, .found] }
    package func judged(_ record: Int64) -> Int64 { self[record, .judged] }

    /// OGS's entity tag for what the last look found.
    package func tag(_ record: Int64) -> String? {
        let found = self[record, .found]
        let place = Int(record) * PlayerIndex.recordSize + Field.tag.rawValue
        let bytes = file.bytes(at: place, count: 64).prefix { $0 != 0 }
        guard !bytes.isEmpty, found != 0, found == self[record, .found] else { return nil }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Notes what a look found. A tag of more than 64 bytes is not kept.
    ///
    /// Nothing counts as found while the tag is written: whoever is killed in between must not leave a tag with
    /// what another look found, which OGS would go on calling unchanged.
    package func note(_ record: Int64, lookBegan: Timestamp, found: Int64, tag: String?) {
        var bytes = Array((tag ?? "").utf8)
        if bytes.count > 64 { bytes = [] }
        bytes += [UInt8](repeating: 0, count: 64 - bytes.count)
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

    package func noteJudged(_ record: Int64, _ fingerprint: Int64) {
        self[record, .judged] = fingerprint
    }

    /// Puts off a player whose looks fail: 1 minute, doubling to an hour.
    package func noteFailure(_ record: Int64, at now: Timestamp) {
        let failures = min(self[record, .failures] + 1, 7)
        self[record, .failures] = failures
        let pause = min(
            Interval.minutes(1).milliseconds << (failures - 1), Interval.hours(1).milliseconds)
        self[record, .notBefore] = now.milliseconds + pause
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
    package let looked: Int64
}
