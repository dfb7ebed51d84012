import CUnix
import Turnstone

/// A file's 8-byte words in this process's own memory, in blocks of one size. Nobody else sees a change
/// before ``flush(to:at:)``, and nobody else's change shows.
///
/// Words are in the machine's order, which is little-endian.
package final class WordTable {
    private var words: UnsafeMutableBufferPointer<Int64>
    private let wordsPerBlock: Int
    /// The number of blocks.
    package private(set) var count: Int
    /// A bit for each block that has changed since it was last written.
    private var changed: [UInt64] = []

    /// - Parameter blockSize: in bytes, a multiple of 8.
    package init(blockSize: Int) {
        wordsPerBlock = blockSize / 8
        count = 0
        words = .allocate(capacity: 0)
    }

    /// Reads the whole blocks of a file from `offset` on, at most `blocks` of them.
    package init(
        blockSize: Int, reading file: FileDescriptor, at offset: Int, blocks: Int = .max
    ) throws(SystemError) {
        wordsPerBlock = blockSize / 8
        let size = max(0, try file.size() - offset)
        words = .allocate(capacity: min(size / blockSize, blocks) * wordsPerBlock)
        var done = 0
        do throws(SystemError) {
            // Another process may have made the file shorter meanwhile.
            while done < words.count * 8 {
                let buffer = UnsafeMutableRawBufferPointer(words)
                let read = try file.read(
                    into: UnsafeMutableRawBufferPointer(rebasing: buffer[done...]),
                    at: offset + done)
                if read == 0 { break }
                done += read
            }
        } catch {
            words.deallocate()
            throw error
        }
        count = done / blockSize
        changed = [UInt64](repeating: 0, count: (count + 63) / 64)
    }

    deinit { words.deallocate() }

    package subscript(block: Int, word: Int) -> Int64 {
        get {
            precondition(block < count && word < wordsPerBlock)
            return words[block * wordsPerBlock + word]
        }
        set {
            precondition(block < count && word < wordsPerBlock)
            let place = block * wordsPerBlock + word
            guard words[place] != newValue else { return }
            words[place] = newValue
            changed[block / 64] |= 1 << UInt64(block % 64)
        }
    }

    /// Adds a block of zeros at the end.
    ///
    /// - Returns: its number.
    package func append() -> Int {
        let size = (count + 1) * wordsPerBlock
        if size > words.count {
            let larger = UnsafeMutableBufferPointer<Int64>.allocate(
                capacity: max(1024 * wordsPerBlock, size * 2))
            for place in 0..<(count * wordsPerBlock) { larger[place] = words[place] }
            words.deallocate()
            words = larger
        }
        for place in (count * wordsPerBlock)..<size { words[place] = 0 }
        count += 1
        if changed.count * 64 < count { changed.append(0) }
        changed[(count - 1) / 64] |= 1 << UInt64((count - 1) % 64)
        return count - 1
    }

    /// The bytes of some words of a block, in the file's order.
    package func bytes(of block: Int, from word: Int, count: Int) -> [UInt8] {
        var bytes: [UInt8] = []
        for place in word..<(word + count) {
            withUnsafeBytes(of: self[block, place].littleEndian) { bytes += $0 }
        }
        return bytes
    }

    /// Writes the blocks that have changed to a file, in which the first block is at `offset`. They count as
    /// changed until all of them are written.
    package func flush(to file: FileDescriptor, at offset: Int) throws(SystemError) {
        var block = 0
        while block < count {
            guard changed[block / 64] != 0 else {
                block = (block / 64 + 1) * 64
                continue
            }
            guard isChanged(block) else {
                block += 1
                continue
            }
            var end = block + 1
            while end < count, end - block < 8192, isChanged(end) { end += 1 }
            try file.write(
                bytes(block..<end), at: offset + block * wordsPerBlock * 8)
            block = end
        }
        for place in changed.indices { changed[place] = 0 }
    }

    private func isChanged(_ block: Int) -> Bool {
        changed[block / 64] & (1 << UInt64(block % 64)) != 0
    }

    private func bytes(_ blocks: Range<Int>) -> [UInt8] {
        let part = words[(blocks.lowerBound * wordsPerBlock)..<(blocks.upperBound * wordsPerBlock)]
        return Array(UnsafeRawBufferPointer(UnsafeBufferPointer(rebasing: part)))
    }
}
