import Turnstone

/// A media type without its parameters.
func essence(ofType type: String) -> String {
    let essence = type.utf8.prefix { $0 != UInt8(ascii: ";") }
    return lowercased(trimmed(String(decoding: essence, as: UTF8.self)))
}

func isJSONType(_ essence: String) -> Bool {
    essence == "application/json" || essence == "text/json"
}
