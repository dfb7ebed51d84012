import Foundation

/// An installation's knowledge about a player.
public struct Diagnostics: Decodable, Hashable, Sendable {
    public struct Game: Decodable, Hashable, Sendable, Identifiable {
        public let id: Int64
        public let name: String
        /// Nil: unknown.
        public let lastMove: Date?
        /// The number of the player whose turn it is. Nil if Online-Go.com names nobody.
        public let currentPlayer: Int64?
        /// Whether it is the player's turn, in paused and live games too.
        public let isYourTurn: Bool
        /// The opponent's name. Nil: unknown, or details were not asked for; so are the next two.
        public let opponent: String?
        public let isPaused: Bool?
        /// When the time of the side to move ends. Nil also if it is unlimited.
        public let timeEnds: Date?

        private enum CodingKeys: String, CodingKey {
            case id = "game_id"
            case name = "game_name"
            case lastMove = "last_move_timestamp"
            case currentPlayer = "current_player"
            case isYourTurn = "is_your_turn"
            case opponent
            case isPaused = "paused"
            case timeEnds = "expiration"
        }

        public init(from decoder: any Decoder) throws {
            let container = try decoder.container(keyedBy: CodingKeys.self)
            id = try container.decode(Int64.self, forKey: .id)
            name = try container.decodeIfPresent(String.self, forKey: .name) ?? ""
            lastMove = try container.milliseconds(.lastMove)
            let current = try container.decodeIfPresent(Int64.self, forKey: .currentPlayer)
            currentPlayer = current == 0 ? nil : current
            isYourTurn = try container.decode(Bool.self, forKey: .isYourTurn)
            opponent = try container.decodeIfPresent(String.self, forKey: .opponent)
            isPaused = try container.decodeIfPresent(Bool.self, forKey: .isPaused)
            timeEnds = try container.milliseconds(.timeEnds)
        }

        public var link: GameLink? { GameLink(game: id) }
    }

    public let isDeviceRegistered: Bool
    /// The beginning of the token of the device that was registered first.
    public let deviceTokenPreview: String?
    /// Nil: never.
    public let lastNotification: Date?
    public let games: [Game]
    public let activeGames: Int
    /// `30s`
    public let checkInterval: String
    /// Nil: never.
    public let lastCheck: Date?

    private enum CodingKeys: String, CodingKey {
        case isDeviceRegistered = "device_token_registered"
        case deviceTokenPreview = "device_token_preview"
        case lastNotification = "last_notification_time"
        case games = "monitored_games"
        case activeGames = "total_active_games"
        case checkInterval = "server_check_interval"
        case lastCheck = "last_server_check_time"
    }

    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        isDeviceRegistered = try container.decode(Bool.self, forKey: .isDeviceRegistered)
        deviceTokenPreview = try container.decodeIfPresent(String.self, forKey: .deviceTokenPreview)
        lastNotification = try container.milliseconds(.lastNotification)
        games = try container.decode([Game].self, forKey: .games)
        activeGames = try container.decode(Int.self, forKey: .activeGames)
        checkInterval = try container.decode(String.self, forKey: .checkInterval)
        let seconds = try container.decodeIfPresent(Int64.self, forKey: .lastCheck) ?? 0
        lastCheck = seconds > 0 ? Date(timeIntervalSince1970: Double(seconds)) : nil
    }
}

extension KeyedDecodingContainer {
    /// Milliseconds since 1970; 0 means none.
    fileprivate func milliseconds(_ key: Key) throws -> Date? {
        let value = try decodeIfPresent(Int64.self, forKey: key) ?? 0
        return value > 0 ? Date(timeIntervalSince1970: Double(value) / 1000) : nil
    }
}
