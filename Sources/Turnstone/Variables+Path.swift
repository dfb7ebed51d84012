extension Variables {
    /// The path of a file or folder in a variable; `nil` if the variable is unset or empty.
    ///
    /// - Throws: misconfigured if the value cannot be a path, such as a key in the place of its file's path.
    ///   The sentence does not repeat the value, because it goes to the log and to `health`.
    @export(interface)
    package func path(_ name: String) throws(Failure) -> String? {
        guard let text = text(name) else { return nil }
        if let fault = pathFault(text) { throw noPath(name, fault) }
        return text
    }

    /// Throws if a path looks like a key, or like settings with one: call it before a failure to read the path,
    /// whose sentence would repeat the key. A path may look like one, so the file is tried first.
    @export(interface)
    package func checkIsNoKey(_ path: String, in name: String) throws(Failure) {
        if looksLikeKey(path) {
            throw noPath(name, "its value looks like a key, and no file of that name can be read")
        }
        if looksLikeSettings(path) {
            throw noPath(
                name, "its value looks like NAME=value, and no file of that name can be read")
        }
    }

    private func noPath(_ name: String, _ fault: String) -> Failure {
        wrong(name, "\(fault). Save the content as a file, and set \(name) to the file's path")
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

/// Whether a text may be a key in base64, base64url or hexadecimal digits, with quotation marks, blanks or
/// `\n` among them: at least 32 such bytes and no others. An absolute path is no key: base64 of PEM and of
/// DER does not begin with `/`.
private func looksLikeKey(_ text: String) -> Bool {
    let bytes = Array(text.utf8)
    return bytes.count >= 32 && bytes.first != UInt8(ascii: "/")
        && bytes.allSatisfy(isKeyByte)
}

/// Whether a text may be from a configuration file, such as `MASTER_API_KEY=…`: a name stands before an `=`.
private func looksLikeSettings(_ text: String) -> Bool {
    let bytes = Array(text.utf8)
    return bytes.indices.contains { place in
        guard bytes[place] == UInt8(ascii: "="),
            let end = bytes[..<place].lastIndex(where: { $0 != UInt8(ascii: " ") }),
            isNameByte(bytes[end])
        else { return false }
        guard let before = bytes[...end].lastIndex(where: { !isNameByte($0) }) else { return true }
        return startsName(bytes[before])
    }
}

private func isNameByte(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "z"),
        UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "_"):
        true
    default: false
    }
}

/// Whether a name may stand after a byte.
private func startsName(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: " "), UInt8(ascii: "\""), UInt8(ascii: "'"), UInt8(ascii: ";"),
        UInt8(ascii: "#"):
        true
    default: false
    }
}

private func isKeyByte(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "z"),
        UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "+"), UInt8(ascii: "/"),
        UInt8(ascii: "-"), UInt8(ascii: "_"), UInt8(ascii: "="), UInt8(ascii: " "),
        UInt8(ascii: "\\"), UInt8(ascii: "\""), UInt8(ascii: "'"):
        true
    default: false
    }
}

private func contains(_ bytes: [UInt8], _ part: [UInt8]) -> Bool {
    guard bytes.count >= part.count else { return false }
    return (0...(bytes.count - part.count)).contains { bytes[$0...].starts(with: part) }
}
