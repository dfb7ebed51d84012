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
