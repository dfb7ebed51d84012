import TestSupport
import Testing
import Turnstone
import Unix

@Suite struct LockingTests {
    let folder = TemporaryFolder()

    private func open() throws -> FileDescriptor {
        try FileDescriptor.open("\(folder.path)/lock", .update)
    }

    @Test("one holds the lock, until it lets go or is gone")
    func exclusion() throws {
        let first = try open()
        var second: FileDescriptor? = try open()
        #expect(try first.tryLock())
        #expect(try second?.tryLock() == false)
        first.unlock()
        #expect(try second?.tryLock() == true)
        #expect(try !first.tryLock())
        #expect(try first.isLocked())
        second = nil
        #expect(try first.tryLock())
    }

    @Test("patience ends without the lock")
    func patience() throws {
        let first = try open()
        let second = try open()
        #expect(try first.tryLock())
        let start = Instant.now
        #expect(try !second.lock(patience: .milliseconds(50)))
        #expect(Instant.now - start >= .milliseconds(50))
        #expect(try !second.lock(patience: .milliseconds(0)))
    }

    @Test("words are read and written where they belong")
    func offsets() throws {
        let file = try open()
        try file.write(Array("0123456789".utf8))
        try file.write(Array("ab".utf8), at: 3)
        #expect(try file.read(upTo: 4, at: 2) == Array("2ab5".utf8))
        #expect(try file.read(upTo: 4, at: 8) == Array("89".utf8))
        #expect(try file.read(upTo: 4, at: 10).isEmpty)
        #expect(try file.size() == 10)
    }

    @Test(
        "words are changed in memory alone until they are flushed, and only changed blocks are written"
    )
    func words() throws {
        let file = try open()
        try file.write([UInt8](repeating: 7, count: 8 + 3 * 16 + 5))
        let one = try WordTable(blockSize: 16, reading: file, at: 8)
        let other = try WordTable(blockSize: 16, reading: file, at: 8)
        #expect(one.count == 3 && other[2, 1] == 0x0707_0707_0707_0707)
        one[1, 0] = -2
        #expect(one.append() == 3)
        one[3, 1] = 1
        #expect(try file.read(upTo: 1, at: 8 + 16) == [7])
        other[0, 0] = 3
        try other.flush(to: file, at: 8)
        try one.flush(to: file, at: 8)
        let read = try WordTable(blockSize: 16, reading: file, at: 8)
        #expect(read.count == 4)
        #expect((0..<4).map { read[$0, 0] } == [3, -2, 0x0707_0707_0707_0707, 0])
        #expect(
            read.bytes(of: 3, from: 0, count: 2) == [UInt8](repeating: 0, count: 8) + [1]
                + [UInt8](repeating: 0, count: 7))
        #expect(try WordTable(blockSize: 16, reading: file, at: 8, blocks: 1).count == 1)
        #expect(try WordTable(blockSize: 16, reading: file, at: 1 << 20).count == 0)
    }
}
