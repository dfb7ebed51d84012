import CUnix
import Turnstone

/// The files of a state folder that a program could not use, for `health`: a line of `set-aside.jsonl` for each.
package enum UnusableFiles {
    /// The note's file below the state folder, and the earlier one.
    package static let names = ["set-aside.jsonl", "set-aside.jsonl.1"]

    /// What one file of notes holds at most, about.
    private static let limit = 1 << 20

    /// Records a file below a state folder. A file that is noted already is not noted again for the same reason.
    ///
    /// - Parameter reason: why it cannot be used, such as `EACCES`; `nil` for a copy that was set aside.
    ///
    /// Where the note cannot be written, the log alone tells of the file.
    package static func note(_ path: String, _ reason: String?) {
        guard path.utf8.first == UInt8(ascii: "/") else { return }
        do throws(SystemError) {
            guard let folder = try stateFolder(above: path) else { return }
            let name = Array(path.utf8.dropFirst(folder.utf8.count + 1))
            var text = Array("\"file\":".utf8) + quoted(name)
            if let reason { text += Array(",\"reason\":".utf8) + quoted(Array(reason.utf8)) }
            text += Array("}\n".utf8)
            let notes = "\(folder)/\(names[0])"
            if try Files.contains(text, in: notes) { return }
            let file = try FileDescriptor.open(notes, .append)
            if try file.size() > limit {
                try Files.rename(notes, "\(folder)/\(names[1])")
                return note(path, reason)
            }
            let moment = Timestamp.systemNow.milliseconds
            try file.write(Array("{\"at\":\(moment),".utf8) + text)
        } catch {}
    }

    /// The folder with `version.json`, of which the path is at most five folders below.
    private static func stateFolder(above path: String) throws(SystemError) -> String? {
        var folder = Files.parent(of: path)
        for _ in 0..<6 {
            if try isThere("\(folder)/version.json") { return folder }
            folder = Files.parent(of: folder)
        }
        return nil
    }

    /// Whether there is such a file; not where its folder cannot be entered.
    private static func isThere(_ path: String) throws(SystemError) -> Bool {
        do throws(SystemError) { return try Files.exists(path) } catch {
            guard error.errno.isOfTheFile else { throw error }
            return false
        }
    }
}

/// A JSON text. Bytes that are no UTF-8 become U+FFFD.
private func quoted(_ bytes: [UInt8]) -> [UInt8] {
    var text = [UInt8(ascii: "\"")]
    for byte in String(decoding: bytes, as: UTF8.self).utf8 {
        switch byte {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"): text += [UInt8(ascii: "\\"), byte]
        case 0..<0x20:
            let digits = Array("0123456789abcdef".utf8)
            text += Array("\\u00".utf8) + [digits[Int(byte >> 4)], digits[Int(byte & 15)]]
        default: text.append(byte)
        }
    }
    return text + [UInt8(ascii: "\"")]
}
