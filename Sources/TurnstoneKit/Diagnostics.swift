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
        /// The opponent's name. Nil: unknown, or details were not asked for; so are the next ones.
        public let opponent: String?
        public let isPaused: Bool?
        /// `play`, `stone removal` or `finished`, as Online-Go.com names it.
        public let phase: String?
        /// The position as its moves, in the form that the reference describes. Nil also if it is not known.
        public let board: JSONValue?
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
            case phase, board
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
            phase = try container.decodeIfPresent(String.self, forKey: .phase)
            board = try container.decodeIfPresent(JSONValue.self, forKey: .board)
            timeEnds = try container.milliseconds(.timeEnds)
        }

        /// Its page is `link?.webURL(on: site)`, with the ``Diagnostics/site`` of the answer.
        public var link: GameLink? { GameLink(game: id) }
    }

    public let isDeviceRegistered: Bool
    /// The beginning of the token of the device that was registered first.
    public let deviceTokenPreview: String?
    /// That device's platform: `ios`, `android` or `web`.
    public let devicePlatform: String?
    /// Whether the app has not registered that device for 270 days.
    public let isDeviceStale: Bool
    /// Nil: never.
    public let lastNotification: Date?
    public let games: [Game]
    public let activeGames: Int
    /// Where the games are. Nil if details were not asked for.
    public let site: URL?
    /// `30s`
    public let checkInterval: String
    /// Nil: never.
    public let lastCheck: Date?

    private enum CodingKeys: String, CodingKey {
        case isDeviceRegistered = "device_token_registered"
        case deviceTokenPreview = "device_token_preview"
        case devicePlatform = "device_platform"
        case isDeviceStale = "device_stale"
        case lastNotification = "last_notification_time"
        case games = "monitored_games"
        case activeGames = "total_active_games"
        case site
        case checkInterval = "server_check_interval"
        case lastCheck = "last_server_check_time"
    }

    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        isDeviceRegistered = try container.decode(Bool.self, forKey: .isDeviceRegistered)
        deviceTokenPreview = try container.decodeIfPresent(String.self, forKey: .deviceTokenPreview)
        devicePlatform = try container.decodeIfPresent(String.self, forKey: .devicePlatform)
        isDeviceStale = try container.decodeIfPresent(Bool.self, forKey: .isDeviceStale) ?? false
        lastNotification = try container.milliseconds(.lastNotification)
        games = try container.decode([Game].self, forKey: .games)
        activeGames = try container.decode(Int.self, forKey: .activeGames)
        site = try container.decodeIfPresent(URL.self, forKey: .site)
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
