import Turnstone

/// Counts users in little memory: exactly up to 4096, then by an estimate from a sample of their hashes.
struct UserCount {
    private var hashes: Set<Int> = []
    /// A hash is in the sample if this many of its lowest bits are 0.
    private var bits = 0

    private static let most = 4096

    var count: Int { hashes.count << bits }

    /// The number of users who are not in another count.
    func count(without others: UserCount) -> Int {
        let rarer = max(bits, others.bits)
        let rest = hashes.count { Self.isSampled($0, rarer) && !others.hashes.contains($0) }
        return rest << rarer
    }

    mutating func insert(_ user: UserID) {
        let hash = user.hashValue
        guard Self.isSampled(hash, bits) else { return }
        hashes.insert(hash)
        while hashes.count > Self.most {
            bits += 1
            hashes = hashes.filter { Self.isSampled($0, bits) }
        }
    }

    private static func isSampled(_ hash: Int, _ bits: Int) -> Bool {
        hash & (1 << bits - 1) == 0
    }
}
