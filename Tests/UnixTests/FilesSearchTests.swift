import Foundation
import TestSupport
import Testing
import Unix

/// Bytes are found and overwritten wherever they are in a file, once each.
@Suite struct FilesSearchTests {
    private let folder = TemporaryFolder()
    private var path: String { "\(folder.path)/file" }

    /// Files are read in pieces of this size.
    private static let piece = 1 << 20

    @Test("also across the pieces in which a file is read", arguments: -9...3)
    func pieces(offset: Int) throws {
        var bytes = [UInt8](repeating: 32, count: 2 * Self.piece + 100)
        let text = Array("\"anna\",".utf8)
        for start in [Self.piece + offset, 2 * Self.piece + offset - 14] {
            bytes.replaceSubrange(start..<(start + text.count), with: text)
        }
        for occurrence in [Files.Occurrence.any, .word, .string] {
            try folder.write(bytes, to: "file")
            #expect(try Files.contains(Array("anna".utf8), in: path, as: occurrence))
            let count = try Files.overwrite(
                Array("anna".utf8), with: 45, in: path, as: occurrence)
            #expect(count == 2)
            let after = try #require(folder.read("file"))
            #expect(after.count == bytes.count)
            #expect(after.count { $0 == 45 } == 8)
            #expect(try !Files.contains(Array("anna".utf8), in: path))
        }
    }

    @Test(
        "a string is a whole one that names no member",
        arguments: [
            (#"{"user":"anna"}"#, 1), (#"{"anna":"anna"}"#, 1), (#""anna"#, 1), (#"anna""#, 1),
            (#"{"x":"team-anna"}"#, 0), (#"{"x":"anna-1"}"#, 0), (#"{"x":"hello anna"}"#, 0),
            (#"{"x":anna}"#, 0), (#"["anna","anna"]"#, 2),
        ])
    func strings(text: String, count: Int) throws {
        try folder.write(text, to: "file")
        let found = try Files.overwrite(Array("anna".utf8), with: 45, in: path, as: .string)
        #expect(found == count)
    }
}
