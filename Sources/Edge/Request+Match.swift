import Turnstone

extension Request {
    /// Refuses a change if the content is no longer what the caller has read (RFC 9110 section 13.1.1).
    ///
    /// The RFC wants no weak tag to match. Ours name a document's version, and this stays the same when a proxy
    /// compresses the answer: its readers could otherwise never change what they have read.
    ///
    /// - Parameters:
    ///   - version: the version of the content, of which its entity tag is made.
    ///   - sentence: the refusal.
    package func checkMatch(_ version: String, else sentence: String) throws(Failure) {
        guard has("if-match", entityTag(version)) ?? true else {
            throw .refused(.changedMeanwhile, sentence)
        }
    }

    /// Whether the client has the content of this entity tag already (RFC 9110 section 13.1.2).
    package func hasCopy(_ tag: String) -> Bool { has("if-none-match", tag) ?? false }

    /// Whether a header names a tag, or all of them. Nil if there is no such header. A proxy that compresses an
    /// answer makes its tag a weak one.
    private func has(_ name: String, _ tag: String) -> Bool? {
        tags(name).map { $0 == ["*"] || $0.contains(tag) || $0.contains("W/\(tag)") }
    }

    private func tags(_ name: String) -> [String]? {
        headers[name]?.utf8.split(separator: UInt8(ascii: ",")).map { tag in
            String(decoding: tag.filter { $0 != 32 && $0 != 9 }, as: UTF8.self)
        }
    }
}

extension Response {
    /// Adds the entity tag of a version of the content (RFC 9110 section 8.8.3).
    ///
    /// - Parameter version: without quotation marks.
    package mutating func setEntityTag(_ version: String) {
        headers.append(("ETag", entityTag(version)))
    }
}

private func entityTag(_ version: String) -> String { "\"\(version)\"" }
