import Turnstone
import Unix

/// Reads a file of the spool line by line: a small one at once, a large one piece by piece.
struct LineReader {
    /// The longest line that is ever written, with its line end. A message's request has a megabyte at most.
    static let longest = 4 << 20
    private static let piece = 65_536

    private let path: String
    private var file: FileDescriptor?
    private var buffer: ArraySlice<UInt8>

    init(_ path: String) throws(SystemError) {
        self.path = path
        let file = try FileDescriptor.open(path, .read)
        // Thousands of files are in hand at once, so allocate only the file's size, and one byte to notice
        // its end.
        let most = min(Self.piece, try file.size() + 1)
        let start = try file.read(upTo: most)
        buffer = start[...]
        self.file = start.count < most ? nil : file
    }

    /// Whether the whole file was read already.
    var isWhole: Bool { file == nil }

    /// The next line, without its end; `nil` after the last.
    ///
    /// - Throws: `corrupt` if a line has no end or is longer than ``longest``.
    mutating func next() throws(Failure) -> ArraySlice<UInt8>? {
        var searched = 0
        while true {
            let start = buffer.startIndex
            if let end = buffer[(start + searched)...].firstIndex(of: UInt8(ascii: "\n")) {
                guard end - start < Self.longest else { throw corrupt(path) }
                defer { buffer = buffer[(end + 1)...] }
                return buffer[..<end]
            }
            guard buffer.count < Self.longest else { throw corrupt(path) }
            guard let file else {
                // A file is written whole, so a last line without an end was not written by the spool.
                guard buffer.isEmpty else { throw corrupt(path) }
                return nil
            }
            searched = buffer.count
            let more: [UInt8]
            // For a long line, each read is as long as what was read before, so that only about twice its
            // length is copied.
            do throws(SystemError) {
                more = try file.read(upTo: max(Self.piece, buffer.count))
            } catch { throw Damage.failure(error) }
            if more.isEmpty { self.file = nil }
            buffer = buffer.isEmpty ? more[...] : (buffer + more)[...]
        }
    }
}
