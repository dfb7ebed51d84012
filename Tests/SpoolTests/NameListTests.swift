import TestSupport
import Testing
import Unix

@testable import Spool

/// The order in which a lane's files are taken.
@Suite struct NameListTests {
    private let folder = TemporaryFolder()

    /// Makes empty files whose ids end with four digits.
    private func make(_ numbers: Range<Int>, endingWith digits: String) throws -> Set<String> {
        try Files.makeFolder(folder.path)
        let names = numbers.map { number in
            let digitsOfNumber = String(number)
            let zeros = String(repeating: "0", count: 32 - digitsOfNumber.count)
            return "\(zeros)\(digitsOfNumber)\(digits).jsonl"
        }
        for name in names { _ = try FileDescriptor.open("\(folder.path)/\(name)", .truncate) }
        return Set(names)
    }

    @Test("few names are found among more than fit into memory, and none is left out")
    func fewAmongMany() throws {
        // Some file systems list what is new first, or last.
        var many = try make(0..<40_000, endingWith: "aaaa")
        let few = try (10..<30).reduce(into: Set<String>()) {
            $0.formUnion(try make(0..<1, endingWith: "\($1)aa"))
        }
        many.formUnion(try make(40_000..<80_000, endingWith: "aaaa"))
        let list = NameList(folder.path)
        for _ in 0..<2 {
            var names: [String] = []
            while let name = try list.next() { names.append(name) }
            #expect(few.isSubset(of: names.prefix(2 * few.count)))
            #expect(Set(names) == many.union(few))
        }
    }

    /// Makes a file, written so many seconds after the first one, and adds its name.
    private func add(_ number: Int, endingWith digits: String, to list: NameList) throws -> String {
        let name = try #require(try make(number..<number + 1, endingWith: digits).first)
        let file = try FileDescriptor.open("\(folder.path)/\(name)", .truncate)
        try file.date(seconds: 1_700_000_000 + Int64(number), nanoseconds: 0)
        list.add(name, isFirst: false)
        return name
    }

    private func all(of list: NameList) throws -> [String] {
        var names: [String] = []
        while let name = try list.next() {
            names.append(name)
            try #require(Files.remove("\(folder.path)/\(name)"))
        }
        return names
    }

    @Test("those that are added to a group are taken in their order")
    func addedToGroup() throws {
        let list = NameList(folder.path)
        var names = try (0..<2).map { try add($0, endingWith: "aaaa", to: list) }
        let first = try #require(try list.next())
        try #require(Files.remove("\(folder.path)/\(first)"))
        names += try (2..<3000).map { try add($0, endingWith: "aaaa", to: list) }
        #expect(try [first] + all(of: list) == names)
    }

    @Test("where few names are taken in the order of their files, another group has its turn soon")
    func addedToMerged() throws {
        let list = NameList(folder.path)
        let first = try (0..<6).map { try add($0, endingWith: "aaa\($0 % 2)", to: list) }
        #expect(try list.next() == first[0])
        for number in 6..<2000 { _ = try add(number, endingWith: "aaaa", to: list) }
        let other = try add(2000, endingWith: "bbbb", to: list)
        var names = try all(of: list)
        #expect(names.count < 300 && Array(names.prefix(5)) == Array(first.dropFirst()))
        names = try all(of: list)
        #expect(names.prefix(4).contains(other))
    }

    @Test("a user's first one has its turn soon, although the folder is not read to its end")
    func addedBesideMany() throws {
        _ = try make(0..<70_000, endingWith: "aaaa")
        let list = NameList(folder.path)
        // Those that are in memory while others are looked for, and some of the others.
        for _ in 0..<5000 { _ = try list.next() }
        let few = try ["bbbb", "cccc"].map { try #require(try make(0..<1, endingWith: $0).first) }
        list.add(few[0], isFirst: true)
        list.add(few[1], isFirst: false)
        let next = try (0..<4).map { _ in try list.next() }
        #expect(next.contains(few[0]) && !next.contains(few[1]))
    }

    @Test("a folder with few names is read once")
    func once() throws {
        let all = try make(0..<2000, endingWith: "aaaa").union(
            try make(0..<2000, endingWith: "bbaa"))
        let list = NameList(folder.path)
        var names: [String] = []
        while let name = try list.next() { names.append(name) }
        #expect(names.count == 4000 && Set(names) == all)
    }
}
