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
