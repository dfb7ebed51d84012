import CUnix

/// The machine on which this process runs.
package enum ThisMachine {
    /// Its name, as other machines may know it. C: `gethostname(2)`.
    package static var name: String {
        var bytes = [UInt8](repeating: 0, count: 256)
        let isKnown = bytes.withUnsafeMutableBytes { buffer in
            buffer.withMemoryRebound(to: CChar.self) { (name) -> Bool in
                guard let start = name.baseAddress else { return false }
                return gethostname(start, name.count - 1) == 0
            }
        }
        return isKnown ? String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self) : "unknown"
    }
}
