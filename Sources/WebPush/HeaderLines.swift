import CCurl

/// The header lines of a request that are our own. Many messages in a row have the same.
final class HeaderLines {
    struct Values: Equatable {
        /// The value of `authorization`.
        let bearer: String
        /// In seconds.
        let ttl: Int64
        let urgency: Urgency
        let topic: String?
    }

    let values: Values
    /// For `CURLOPT_HTTPHEADER`, valid as long as this object lives.
    private(set) var list: UnsafeMutablePointer<curl_slist>?

    init(_ values: Values) {
        self.values = values
        var lines = [
            "Authorization: \(values.bearer)", "Content-Type: application/octet-stream",
            "Content-Encoding: aes128gcm", "TTL: \(values.ttl)",
            "Urgency: \(values.urgency.rawValue)",
            // libcurl would wait for the server's consent before it sends the body.
            "Expect:",
        ]
        if let topic = values.topic { lines.append("Topic: \(topic)") }
        for line in lines { list = curl_slist_append(list, line) }
    }

    deinit { curl_slist_free_all(list) }
}
