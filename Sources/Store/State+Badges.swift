import Turnstone

extension State {
    /// Takes back what messages have added to a user's badge, as no device took them: each once, however often this is called.
    package func takeBackBadges(
        _ changes: [(message: String, change: BadgeChange)], of user: UserID
    ) throws(Failure) {
        let name = DocumentName(user)
        let counted = try users.read(name)?.badgeMessages ?? []
        guard changes.contains(where: { counted.contains($0.message) }) else { return }
        try users.update(name) { document in
            for (message, change) in changes {
                document.takeBackBadge(change, messageID: message)
            }
        }
    }
}
