extension Variables {
    /// The path of a file or folder in a variable; `nil` if the variable is unset or empty.
    ///
    /// - Throws: misconfigured if the value cannot be a path, such as a key in the place of its file's path.
    ///   The sentence does not repeat the value, because it goes to the log and to `health`.
    @export(interface)
    package func path(_ name: String) throws(Failure) -> String? {
        guard let text = text(name) else { return nil }
        if let fault = pathFault(text) {
            throw wrong(
                name, "\(fault). Save the content as a file, and set \(name) to the file's path")
        }
        return text
    }

    /// Throws if a path may be a key, or settings with one: call it before a failure to read the path, whose
    /// sentence would repeat it. Such a path may be a file's all the same, so that is tried first.
    @export(interface)
    package func checkIsNoKey(_ path: String, in name: String) throws(Failure) {
        guard !isPlainPath(path) else { return }
        throw wrong(
            name,
            """
            no file of that name can be read. Its value is not repeated here, because it may be a key. Set \(name) \
            to the file's absolute path; if its value is the content, save that as a file first
            """)
    }
}

/// Why a text cannot be a path; `nil` if it may be one.
private func pathFault(_ text: String) -> String? {
    let bytes = Array(text.utf8)
    if contains(bytes, Array("-----BEGIN".utf8)) {
        return "its value is the key or certificate itself, not a file's path"
    }
    if bytes.contains(UInt8(ascii: "{")) {
        return "its value looks like JSON, not like a file's path"
    }
    if bytes.contains(where: { $0 < 0x20 || $0 == 0x7f }) {
        return "its value has a line break or another control character, so it is no file's path"
    }
    // Linux: PATH_MAX and NAME_MAX, limits.h.
    let parts = bytes.split(separator: UInt8(ascii: "/"))
    if bytes.count >= 4096 || parts.contains(where: { $0.count > 255 }) {
        return
            "its value is too long for a file's path; it may be the key itself, or the key in base64"
    }
    return nil
}

/// Whether a text is an absolute path that cannot be taken for anything else: it has the characters that paths
/// usually have, and between its slashes and dots nothing that is as long as a key.
private func isPlainPath(_ text: String) -> Bool {
    let bytes = Array(text.utf8)
    guard bytes.first == UInt8(ascii: "/"), bytes.allSatisfy(isPathByte) else { return false }
    return bytes.split { $0 == UInt8(ascii: "/") || $0 == UInt8(ascii: ".") }
        .allSatisfy { $0.count < 24 }
}

private func isPathByte(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "z"),
        UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "/"), UInt8(ascii: "."),
        UInt8(ascii: "-"), UInt8(ascii: "_"), UInt8(ascii: "+"), UInt8(ascii: "@"), 0x80...:
        true
    default: false
    }
}

private func contains(_ bytes: [UInt8], _ part: [UInt8]) -> Bool {
    guard bytes.count >= part.count else { return false }
    return (0...(bytes.count - part.count)).contains { bytes[$0...].starts(with: part) }
}
