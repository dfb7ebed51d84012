/// A generator whose numbers can be had again (SplitMix64).
package struct Seeded {
    package private(set) var state: UInt64

    package init(seed: UInt64) { state = seed }

    package mutating func one(in count: Int) -> Int {
        state &+= 0x9E37_79B9_7F4A_7C15
        var word = state
        word = (word ^ (word >> 30)) &* 0xBF58_476D_1CE4_E5B9
        word = (word ^ (word >> 27)) &* 0x94D0_49BB_1331_11EB
        return Int((word ^ (word >> 31)) % UInt64(count))
    }
}
