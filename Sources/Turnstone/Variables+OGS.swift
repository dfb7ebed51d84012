extension Variables {
    /// `OGS_BASE_URL`: the address at which OGS is asked.
    package func ogsAddress() throws(Failure) -> SiteAddress {
        try address("OGS_BASE_URL") ?? .onlineGo
    }

    /// `OGS_WEB_URL`: the address for links in notices; if it is unset, `OGS_BASE_URL`.
    package func ogsWebAddress() throws(Failure) -> SiteAddress {
        if let address = try address("OGS_WEB_URL") { return address }
        return try ogsAddress()
    }

    private func address(_ name: String) throws(Failure) -> SiteAddress? {
        guard let text = text(name) else { return nil }
        guard let address = SiteAddress(text) else {
            throw wrong(name, "must be an address such as https://online-go.com")
        }
        return address
    }

    /// `OGS_CONTACT`: an e-mail address or a URL at which OGS's operators can reach this installation's
    /// operators.
    package func ogsContact() throws(Failure) -> String? {
        guard let text = text("OGS_CONTACT") else { return nil }
        guard text.utf8.count <= 200, isMailAddress(text) || isURL(text) else {
            throw wrong(
                "OGS_CONTACT",
                "must be an e-mail address or a URL, such as https://example.org/contact")
        }
        return text
    }
}

private func isURL(_ text: String) -> Bool {
    // A `SiteAddress` has no query, but a contact URL may have one.
    SiteAddress(String(text.prefix { $0 != "?" })) != nil && text.utf8.allSatisfy(isCommentText)
}

private func isMailAddress(_ text: String) -> Bool {
    let parts = text.utf8.split(separator: UInt8(ascii: "@"), omittingEmptySubsequences: false)
    return parts.count == 2 && parts.allSatisfy { !$0.isEmpty }
        && text.utf8.allSatisfy { isCommentText($0) && $0 != UInt8(ascii: "/") }
}

/// Whether a byte stands for itself in a header's comment (RFC 9110 section 5.6.5). The User-Agent has the
/// contact in a comment.
private func isCommentText(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "("), UInt8(ascii: ")"), UInt8(ascii: "\\"), UInt8(ascii: "\""),
        UInt8(ascii: "<"), UInt8(ascii: ">"), UInt8(ascii: ","), UInt8(ascii: ";"):
        false
    default: byte > 0x20 && byte < 0x7f
    }
}
