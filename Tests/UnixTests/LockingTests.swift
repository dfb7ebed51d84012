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
}
