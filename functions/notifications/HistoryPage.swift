import Documents
import Spool
import Store
import Turnstone
import Unix

/// A page of a user's history, in the form of the answer.
struct HistoryPage {
    private let state: State
    private let devices: [Device]
    private(set) var entries: [JSONValue] = []
    /// The deliveries of later receipts on this page: their earlier attempts need no entry.
    private var settled: Set<String> = []
    /// By delivery, the entries of attempts that have no outcome.
    private var waiting: [String: (place: Int, at: Timestamp)] = [:]
    /// By id, the entries without a kind.
    private var incomplete: [String: [Int]] = [:]
    /// The kinds of messages that their receipts do not tell, by id.
    private var kinds: [String: String] = [:]

    init(_ state: State, devices: [Device]) {
        self.state = state
        self.devices = devices.filter { $0.kind == .device }
    }

    mutating func add(_ receipt: Receipt) {
        // The messages that it brought have receipts of their own.
        guard receipt.kind != "release" else { return }
        let isLatest = settled.insert(delivery(receipt)).inserted
        if let kind = receipt.kind { complete(receipt.id, kind) }
        guard isLatest || receipt.outcome != nil else { return }
        let members = members(of: receipt)
        if members["kind"] == .null { incomplete[receipt.id, default: []].append(entries.count) }
        if receipt.outcome == nil { waiting[delivery(receipt)] = (entries.count, receipt.at) }
        entries.append(.object(members))
    }

    /// Names a delivery. Of several browsers, `tokenStart` may be the same.
    private func delivery(_ receipt: Receipt) -> String {
        let device = receipt.device ?? "\(receipt.tokenStart ?? "") \(receipt.number ?? -1)"
        return "\(receipt.id) \(device) \(receipt.service.rawValue)"
    }

    /// Takes out the attempts that have later receipts on an earlier page.
    ///
    /// - Parameter history: from the newest receipt on. If the deadline passes, some attempts stay.
    mutating func removeOvertaken(
        _ history: inout ReceiptHistory, until deadline: Instant
    ) throws(Failure) {
        var overtaken: Set<Int> = []
        while !waiting.isEmpty, let receipt = try history.next(until: deadline) {
            guard let own = waiting.removeValue(forKey: delivery(receipt)) else { continue }
            if receipt.outcome != nil || receipt.at != own.at { overtaken.insert(own.place) }
        }
        for place in overtaken.sorted(by: >) { entries.remove(at: place) }
    }

    /// Adds the kind to later receipts of the same, which do not tell it: those of messages that were held.
    private mutating func complete(_ id: String, _ kind: String) {
        for place in incomplete.removeValue(forKey: id) ?? [] {
            guard var members = entries[place].object else { continue }
            members["kind"] = .string(kind)
            entries[place] = .object(members)
        }
    }

    private mutating func members(of receipt: Receipt) -> JSONObject {
        let device = device(of: receipt)
        var members: JSONObject = [
            "id": .string(receipt.id),
            "at": .string(CalendarDate(receipt.at).millisecondText),
            "kind": kind(of: receipt).map { .string($0) } ?? .null,
            "platform": .string((device?.platform ?? receipt.platform).rawValue),
            "device": device.map { .string($0.id) } ?? .null,
            "deviceName": device?.name.map { .string($0) } ?? .null,
            "outcome": .string(receipt.outcome?.rawValue ?? "waiting"),
            "reason": receipt.reason.map { .string($0) } ?? .null,
            "explanation": .string(receipt.explanation),
        ]
        members["status"] = receipt.status.map { .integer($0) }
        members["mayHaveArrived"] = receipt.isInDoubt ? true : nil
        return members
    }

    private mutating func kind(of receipt: Receipt) -> String? {
        if let kind = receipt.kind { return kind }
        // Receipts of messages name the device's id, but not always the kind.
        guard receipt.device != nil else { return nil }
        if let known = kinds[receipt.id] { return known.isEmpty ? nil : known }
        let kind = readKind(of: receipt.id)
        kinds[receipt.id] = kind ?? ""
        return kind
    }

    /// A record that cannot be used must not hide the history.
    private func readKind(of id: String) -> String? {
        do throws(Failure) { return try state.messages.find(id)?.kind } catch {
            error.recordFile()
            return nil
        }
    }

    /// The caller's device that a receipt is about, if the caller still has it and only one can be meant.
    private func device(of receipt: Receipt) -> Device? {
        if let id = receipt.device { return devices.first { $0.ids.contains(id) } }
        let possible = devices.filter {
            $0.platform.service == receipt.service && $0.token.start == receipt.tokenStart
        }
        return possible.count == 1 ? possible[0] : nil
    }
}

extension Receipt {
    fileprivate var platform: Platform {
        switch service {
        case .apns: .ios
        case .fcm: .android
        case .web: .web
        }
    }
}
