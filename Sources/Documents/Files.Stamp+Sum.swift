import Turnstone
import Unix

extension Files.Stamp {
    /// A 59-bit FNV-1a hash over whole words. A number that short is quick to parse.
    package var sum: Int64 {
        var sum: UInt64 = 0xcbf2_9ce4_8422_2325
        func add(_ word: Int64) {
            sum = (sum ^ UInt64(bitPattern: word)) &* 0x100_0000_01b3
            sum ^= sum >> 29
        }
        add(inode)
        add(size)
        add(seconds)
        add(nanoseconds)
        return Int64(sum >> 5)
    }

    /// When the file was last changed, by the file system's clock.
    package var changed: Timestamp {
        Timestamp(seconds: seconds) + .milliseconds(nanoseconds / 1_000_000)
    }
}
