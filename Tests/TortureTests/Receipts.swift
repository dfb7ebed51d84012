import JSON
import TestSupport
import Turnstone

/// The receipts of a state folder (`Sources/Spool/FORMAT.md`).
struct Receipts {
    /// One line about one device.
    struct Line {
        let place: String
        /// As in ``Target/receiptName``.
        let device: String
        let pushID: String
        let status: Int64?
        let outcome: String?
        /// Whether a drainer that was killed may have sent the same push before.
        let isRepeat: Bool
    }

    private(set) var lines: [Line] = []
    /// Malformed lines, by file.
    private(set) var damaged: [String] = []

    init(_ state: TemporaryFolder) {
        for (name, bytes) in state.files() where name.hasPrefix("receipts/") {
            // "receipts/2026-11-21.apns.1.jsonl", or ".apns-2of3."
            let queue = name.split(separator: ".").dropFirst().first ?? ""
            let service = String(queue.prefix { $0 != "-" })
            for text in bytes.split(separator: UInt8(ascii: "\n")) {
                guard let members = try? JSON.parse(Array(text)).object else {
                    damaged.append("\(name): \(String(decoding: text.prefix(80), as: UTF8.self))")
                    continue
                }
                if let line = Line(members, of: service) { lines.append(line) }
            }
        }
    }

    /// The devices whose push has its outcome, as in ``Target/receiptName``.
    var settledDevices: Set<String> {
        Set(lines.filter { $0.outcome != nil && $0.outcome != "held" }.map(\.device))
    }

    /// The ids of the pushes that have their outcome.
    var settled: Set<String> { Set(lines.filter { $0.outcome != nil }.map(\.pushID)) }
}

extension [Receipts.Line] {
    /// Whether the receipts say of a push that it may have been sent so often, since answers were lost.
    func tell(of pushID: String, sent count: Int) -> Bool {
        let lines = filter { $0.pushID == pushID }
        let lost = lines.count { $0.status == nil && $0.outcome == nil }
        return lost >= count - 1 || lines.contains { $0.isRepeat }
    }
}

extension Receipts.Line {
    /// - Returns: `nil` where the line is about a notification as a whole, or one that only reminded of
    ///   others.
    fileprivate init?(_ members: JSONObject, of service: String) {
        guard let id = members["id"]?.string, let number = members["n"]?.integer,
            let device = members["device"]?.string, members["outcome"] != "superseded"
        else { return nil }
        place = "\(id)/\(number)"
        self.device =
            service == "apns"
            ? String(device.prefix(8)) : "\(service)/\(members["user"]?.string ?? "")"
        pushID = members["apns_id"]?.string ?? ""
        status = members["status"]?.integer
        outcome = members["outcome"]?.string
        isRepeat = members["repeat"] == true
    }
}
