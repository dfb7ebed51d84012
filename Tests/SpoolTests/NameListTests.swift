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
        _ = list.add(name)
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

    @Test("of one group, more are added than are kept in memory, and all are taken in their order")
    func addedToGroup() throws {
        let list = NameList(folder.path)
        var names = try (0..<2).map { try add($0, endingWith: "aaaa", to: list) }
        var taken = try [#require(try list.next())]
        names += try (2..<5000).map { try add($0, endingWith: "aaaa", to: list) }
        try #require(Files.remove("\(folder.path)/\(taken[0])"))
        taken += try all(of: list)
        #expect(taken.count < 2500)
        for _ in 0..<2 { taken += try all(of: list) }
        #expect(taken == names)
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

    @Test("it says that a group which is not in memory has no turn until the next reading")
    func addedBesideMany() throws {
        var many = try make(0..<70_000, endingWith: "aaaa")
        let list = NameList(folder.path)
        // Those that are in memory while others are looked for, and one of the others.
        for _ in 0..<5000 { many.remove(try #require(try list.next())) }
        let few = try #require(try make(0..<1, endingWith: "bbbb").first)
        #expect(!list.add(few))
        list.restart()
        let next = try (0..<4).map { _ in try list.next() }
        #expect(next.contains(few))
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
