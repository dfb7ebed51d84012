extension Connection {
    private struct Configuration: Decodable { let vapid_public_key: String }

    func webPushKey() async throws(TurnstoneError) -> String {
        try await value("GET", "api/push/config", as: Configuration.self).vapid_public_key
    }
}
