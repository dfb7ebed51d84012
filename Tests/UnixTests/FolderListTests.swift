import TestSupport
import Testing
import Unix

@Suite struct FolderListTests {
    let folder = TemporaryFolder()

    private func all(_ list: FolderList) throws -> Set<String> {
        var names: Set<String> = []
        while let name = try list.next() { #expect(names.insert(name).inserted) }
        return names
    }

    @Test("a list gives each name once, and then starts over with the present names")
    func names() throws {
        for name in ["a", "b", "c"] { try folder.write("", to: name) }
        let list = FolderList(folder.path)
        #expect(try all(list) == ["a", "b", "c"])
        try folder.write("", to: "d")
        Files.remove("\(folder.path)/a")
        #expect(try all(list) == ["b", "c", "d"])
    }

    @Test("a folder that is missing has no names, until it is made")
    func missing() throws {
        let list = FolderList("\(folder.path)/later")
        #expect(try list.next() == nil)
        try folder.write("", to: "later/a")
        #expect(try list.next() == "a")
    }

    @Test("a file cannot be listed as a folder")
    func file() throws {
        try folder.write("", to: "a")
        #expect(throws: SystemError.self) { try FolderList("\(folder.path)/a").next() }
    }

    /// File systems differ in whether a folder's list grows at all.
    @Test("an empty folder goes when its list has grown long, and only an empty one")
    func worn() throws {
        try folder.write("", to: "deep/keep")
        let deep = "\(folder.path)/deep"
        let long = String(repeating: "x", count: 200)
        for number in 0..<6000 {
            _ = try FileDescriptor.open("\(deep)/\(number)\(long)", .truncate)
        }
        let list = FolderList(deep)
        list.removeIfOversized()
        #expect(try Files.exists("\(deep)/keep"))
        for name in try all(list) { Files.remove("\(deep)/\(name)") }
        let isWorn = try (Files.stamp(of: deep)?.size ?? 0) > 1 << 20
        list.removeIfOversized()
        #expect(try Files.exists(deep) == !isWorn)
        #expect(try list.next() == nil)
    }
}
