extension JSONObject {
    /// Whether `aps` has a text that a reader sees, or lets the app show one of its own.
    package var showsText: Bool {
        if let text = self["alert"]?.string { return text.isVisible }
        let alert = self["alert"]?.object ?? [:]
        return alert.members.contains { member in
            switch member.name {
            case "title", "subtitle", "body": member.value.string?.isVisible ?? false
            case "title-loc-key", "subtitle-loc-key", "loc-key": true
            default: false
            }
        }
    }
}

extension String {
    /// Whether a reader sees anything: white space, control characters and zero-width characters show
    /// nothing.
    package var isVisible: Bool {
        unicodeScalars.contains { scalar in
            let properties = scalar.properties
            // The last look blank: an empty Braille cell, and the marks of annotations and of a lost object.
            return !properties.isWhitespace && !properties.isDefaultIgnorableCodePoint
                && scalar.value >= 0x20 && !(0x7F...0x9F).contains(scalar.value)
                && scalar.value != 0x2800 && !(0xFFF9...0xFFFC).contains(scalar.value)
        }
    }
}
