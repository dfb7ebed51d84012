/// A set of numbers from 0 on, with a bit for each: a million numbers take 125 KB.
struct NumberSet {
    private var words: [UInt64] = []
    private(set) var count = 0

    func contains(_ number: Int) -> Bool {
        let place = number >> 6
        return place < words.count && words[place] >> UInt64(number & 63) & 1 == 1
    }

    /// - Returns: whether the number was new.
    @discardableResult
    mutating func insert(_ number: Int) -> Bool {
        guard !contains(number) else { return false }
        let place = number >> 6
        while words.count <= place { words.append(0) }
        words[place] |= 1 << UInt64(number & 63)
        count += 1
        return true
    }

    mutating func insert(_ numbers: ClosedRange<Int>) {
        let last = numbers.upperBound >> 6
        if words.count <= last {
            words += [UInt64](repeating: 0, count: last + 1 - words.count)
        }
        for place in (numbers.lowerBound >> 6)...last {
            var new = UInt64.max
            if place == numbers.lowerBound >> 6 { new &= .max << UInt64(numbers.lowerBound & 63) }
            if place == last { new &= .max >> UInt64(63 - numbers.upperBound & 63) }
            count += (new & ~words[place]).nonzeroBitCount
            words[place] |= new
        }
    }

    /// Calls `body` with each number, in their order.
    func forEach(_ body: (Int) -> Void) {
        for (place, word) in words.enumerated() {
            var rest = word
            while rest != 0 {
                body(place << 6 + rest.trailingZeroBitCount)
                rest &= rest - 1
            }
        }
    }

    mutating func remove(_ number: Int) {
        guard contains(number) else { return }
        words[number >> 6] &= ~(1 << UInt64(number & 63))
        count -= 1
    }
}
