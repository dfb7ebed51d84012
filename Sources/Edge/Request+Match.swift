import Turnstone

extension Request {
    /// Refuses a change if the content is no longer what the caller has read (RFC 9110 section 13.1.1).
    ///
    /// - Parameters:
    ///   - revision: the revision of the content, of which its entity tag is made.
    ///   - sentence: the refusal.
    package func checkMatch(_ revision: Int64, else sentence: String) throws(Failure) {
        guard let condition = headers["if-match"] else { return }
        let tags = condition.utf8.split(separator: UInt8(ascii: ",")).map { tag in
            String(decoding: tag.filter { $0 != 32 && $0 != 9 }, as: UTF8.self)
        }
        guard tags.contains(entityTag(revision)) || tags == ["*"] else {
            throw .refused(.changedMeanwhile, sentence)
        }
    }
}

extension Response {
    /// Adds the entity tag of content with a revision (RFC 9110 section 8.8.3).
    package mutating func setEntityTag(_ revision: Int64) {
        headers.append(("ETag", entityTag(revision)))
    }
}

private func entityTag(_ revision: Int64) -> String { "\"\(revision)\"" }
