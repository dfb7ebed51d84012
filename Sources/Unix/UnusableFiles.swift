import CUnix
import Turnstone

/// A list of files in a state folder that programs could not use, for `health`: one line of `set-aside.jsonl`
/// each.
package enum UnusableFiles {
    /// The list's current and previous file, relative to the state folder.
    package static let names = ["set-aside.jsonl", "set-aside.jsonl.1"]

    /// When this process has recorded a file, by its path and reason.
    nonisolated(unsafe) private static var recorded: [String: Instant] = [:]

    /// The approximate size at which a new file is started, in bytes.
    private static let limit = 1 << 20

    /// Records a file in a state folder, once for the same reason.
    ///
    /// - Parameter reason: why it cannot be used, such as `EACCES`; `nil` for a copy that was set aside.
    ///
    /// If the list cannot be written, only the log mentions the file.
    @export(interface)
    package static func record(_ path: String, _ reason: String?) {
        guard path.utf8.first == UInt8(ascii: "/") else { return }
        // A drainer may meet a folder many times in a second.
        let name = "\(reason ?? "") \(path)"
        if let last = recorded[name], Instant.now - last < .minutes(1) { return }
        if recorded.count > 1000 { recorded = [:] }
        recorded[name] = .now
        write(path, reason)
    }

    private static func write(_ path: String, _ reason: String?) {
        do throws(SystemError) {
            guard let folder = try stateFolder(above: path) else { return }
            let name = Array(path.utf8.dropFirst(folder.utf8.count + 1))
            var text = Array("\"file\":".utf8) + quoted(name)
            if let reason { text += Array(",\"reason\":".utf8) + quoted(Array(reason.utf8)) }
            text += Array("}\n".utf8)
            let notes = "\(folder)/\(names[0])"
            if try Files.contains(text, in: notes) { return }
            let file = try FileDescriptor.open(notes, .append)
            guard try file.lock(patience: .seconds(1)) else { return }
            defer { file.unlock() }
            // Another process may have renamed it.
            guard try file.isStill(at: notes) else { return write(path, reason) }
            if try file.size() > limit {
                try Files.rename(notes, "\(folder)/\(names[1])")
                return write(path, reason)
            }
            let moment = Timestamp.systemNow.milliseconds
            try file.write(Array("{\"at\":\(moment),".utf8) + text)
        } catch {}
    }

    /// The state folder, which is the one with `version.json`, at most six levels above the path.
    static func stateFolder(above path: String) throws(SystemError) -> String? {
        var folder = Files.parent(of: path)
        for _ in 0..<6 {
            if try isThere("\(folder)/version.json") { return folder }
            folder = Files.parent(of: folder)
        }
        return nil
    }

    /// Whether the file exists; `false` if its folder cannot be entered.
    private static func isThere(_ path: String) throws(SystemError) -> Bool {
        do throws(SystemError) { return try Files.exists(path) } catch {
            guard error.errno.isFileSpecific else { throw error }
            return false
        }
    }
}

/// Quotes bytes as a JSON string. Bytes that are not UTF-8 become U+FFFD.
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
