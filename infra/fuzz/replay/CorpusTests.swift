import Foundation
import Testing

/// Each parser over its corpus, which `infra/fuzz/run` has found: the inputs that reach what can be reached,
/// and those that once were a crash.
@Suite struct CorpusTests {
    @Test("a parser takes its corpus", arguments: parsers.map(\.name))
    func corpus(name: String) throws {
        let parser = try #require(parsers.first { $0.name == name }?.parser)
        let folder = "\(corpora)/\(name)"
        let files = try FileManager.default.contentsOfDirectory(atPath: folder).sorted()
        #expect(files.count > 3)
        for file in files {
            let bytes = try Data(contentsOf: URL(fileURLWithPath: "\(folder)/\(file)"))
            let complaint = parser([UInt8](bytes))
            #expect(complaint == nil, "\(name)/\(file)")
        }
    }

    @Test func everyCorpusHasAParser() throws {
        let folders = try FileManager.default.contentsOfDirectory(atPath: corpora)
        #expect(folders.sorted() == parsers.map(\.name).sorted())
    }
}

private let corpora = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
    .deletingLastPathComponent().appendingPathComponent("corpus").path
