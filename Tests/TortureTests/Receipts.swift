import JSON
import TestSupport
import Turnstone

/// What the receipts of a state folder say (`Sources/Spool/FORMAT.md`).
struct Receipts {
    /// One line about one device.
    struct Line {
        let place: String
        let device: String
        let pushID: String
        let status: Int64?
        let outcome: String?
    }

    private(set) var lines: [Line] = []
    /// Lines that are none, by their file.
    private(set) var damaged: [String] = []

    init(_ state: TemporaryFolder) {
        for (name, bytes) in state.files() where name.hasPrefix("receipts/") {
            for text in bytes.split(separator: UInt8(ascii: "\n")) {
                guard let members = try? JSON.parse(Array(text)).object else {
                    damaged.append("\(name): \(String(decoding: text.prefix(80), as: UTF8.self))")
                    continue
                }
                if let line = Line(members) { lines.append(line) }
            }
        }
    }

    /// The ids of the pushes that have their outcome.
    var settled: Set<String> { Set(lines.filter { $0.outcome != nil }.map(\.pushID)) }

    /// How often the receipts say of a push that its answer was lost.
    func lostAnswers(of pushID: String) -> Int {
        lines.count { $0.pushID == pushID && $0.status == nil && $0.outcome == nil }
    }
}

extension Receipts.Line {
    /// - Returns: `nil` where the line is about a notification as a whole.
    fileprivate init?(_ members: JSONObject) {
        guard let id = members["id"]?.string, let number = members["n"]?.integer,
            let device = members["device"]?.string
        else { return nil }
        place = "\(id)/\(number)"
        self.device = String(device.prefix(8))
        pushID = members["apns_id"]?.string ?? ""
        status = members["status"]?.integer
        outcome = members["outcome"]?.string
    }
}
