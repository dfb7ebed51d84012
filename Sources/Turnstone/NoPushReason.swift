/// Why a user gets no push now, as `GET /api/status/{user}` says it.
package enum NoPushReason: String, CaseIterable, Sendable {
    // MARK: Nothing can be sent to the user

    /// The user has no device.
    case noDevice = "no device"
    /// The user's devices are on platforms whose push service is not set up.
    case noPushService = "no push service"
    /// The push service does not know the device's token.
    case quarantined
    /// Messages to the user's devices are disabled.
    case disabled

    // MARK: The user's preferences hold it

    /// The user has turned turn notices off.
    case unwanted
    /// The user has muted notifications.
    case muted
    /// The user has quiet hours now.
    case quietHours = "quiet hours"
    /// The last notices were refused for every device, so the next one waits.
    case refusedEverywhere = "refused everywhere"

    // MARK: It cannot be sent now

    /// The push service's queue has stopped until an operator acts.
    case deliveryStopped = "delivery stopped"
    /// The push service answers no pushes.
    case deliveryFailing = "delivery failing"
    /// Something for the user is queued.
    case queued

    // MARK: Nobody has looked at the games

    /// The user is not a player who was registered with `POST /register`.
    case noPlayer = "no player"
    /// `check-turns` does not look at the player yet.
    case notWatched = "not watched"
    /// Online-Go.com knows no such player.
    case unknownPlayer = "unknown player"
    /// The last looks at the player's games failed.
    case lookFailed = "look failed"
    /// Nobody has looked at the player's games.
    case notLooked = "not looked"
    /// The last look was too long ago.
    case lookLate = "look late"
    /// No games are looked at now.
    case paused = "Online-Go.com paused"

    // MARK: What the last look says of the games

    /// Games wait for the player, but they are paused or live.
    case pausedOrLive = "paused or live"
    /// No game waits for the player.
    case nothingWaits = "nothing waits"
    /// The player was told each turn.
    case told
    /// Games wait for the player, and no notice is queued yet.
    case newTurns = "new turns"
    /// Some games could not be understood in Online-Go.com's answer.
    case gamesSkipped = "games skipped"
}
