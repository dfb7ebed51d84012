import Turnstone

/// The configuration file's reader: whatever a name was read to hold, quoted it reads the same.
@Sendable func environmentFile(_ bytes: [UInt8]) -> String? {
    var variables = Variables()
    variables.offer(environmentFile: String(decoding: bytes, as: UTF8.self))
    for name in ["A", "B", "TURNSTONE_STATE", "APNS_KEY"] {
        guard let value = variables[name] else { continue }
        var again = Variables()
        again.offer(environmentFile: "; a comment\n\(name)=\(quoted(value)) \nZ=last\n")
        guard again[name] == value, again["Z"] == "last" else { return "\(name) reads otherwise" }
    }
    return nil
}

private func quoted(_ value: String) -> String {
    var text: [UInt8] = []
    for byte in value.utf8 {
        if byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\") {
            text.append(UInt8(ascii: "\\"))
        }
        text.append(byte)
    }
    return "\"" + String(decoding: text, as: UTF8.self) + "\""
}
