/// Numbers from 0 on, a bit for each: a million take 125 KB.
struct NumberSet {
    private var words: [UInt64] = []
    private(set) var count = 0

    func contains(_ number: Int) -> Bool {
        let place = number >> 6
        return place < words.count && words[place] >> UInt64(number & 63) & 1 == 1
    }

    /// - Returns: whether it was not there before.
    @discardableResult
    mutating func insert(_ number: Int) -> Bool {
        guard !contains(number) else { return false }
        let place = number >> 6
        while words.count <= place { words.append(0) }
        words[place] |= 1 << UInt64(number & 63)
        count += 1
        return true
    }

    mutating func remove(_ number: Int) {
        guard contains(number) else { return }
        words[number >> 6] &= ~(1 << UInt64(number & 63))
        count -= 1
    }
}
