import Turnstone

/// A method and a pattern of paths, such as `GET` and `/check/{user_id}`.
///
/// A pattern is compared with the end of a path, because a host may mount the programs under any prefix.
/// `{name}` matches one segment that is not empty.
struct RoutePattern {
    let method: String
    let path: String
    /// Whether it is a page's file. Only a host's prefix may stand before it.
    let isPage: Bool
    private let segments: [String]

    init(_ method: String, _ path: String, isPage: Bool = false) {
        self.method = method
        self.path = path
        self.isPage = isPage
        segments = Edge.segments(of: path)
    }

    /// The first segment.
    var first: String? { segments.first }

    /// The number of segments.
    var length: Int { segments.count }

    /// The number of segments that are words, not `{names}`.
    var words: Int { segments.count { $0.utf8.first != UInt8(ascii: "{") } }

    /// Whether the route accepts a method. `GET` also accepts `HEAD`.
    func accepts(_ other: String) -> Bool {
        other == method || (other == "HEAD" && method == "GET")
    }

    /// The form of the answers to failed requests.
    var errorForm: ErrorForm {
        switch segments.first {
        case apiPrefix: .api
        case "notifications", "apps", "players", "templates", "organizations": .oneSignal
        default: .plain
        }
    }

    /// The values of the pattern's `{names}`; `nil` if the path does not end like the pattern.
    func parameters(in path: [String]) -> [Request.Parameter]? {
        guard path.count >= segments.count else { return nil }
        var found: [Request.Parameter] = []
        for (part, segment) in zip(segments, path.suffix(segments.count)) {
            if part.utf8.first == UInt8(ascii: "{") {
                guard !segment.isEmpty else { return nil }
                let name = String(decoding: part.utf8.dropFirst().dropLast(), as: UTF8.self)
                found.append(Request.Parameter(name: name, value: segment))
            } else if part != segment {
                return nil
            }
        }
        return found
    }
}

/// The first segment of every route of the API.
let apiPrefix = "api"
