import Turnstone

/// A place before all receipts of a notification, in the receipts of each push service.
package struct ReceiptsStart: Equatable, Sendable {
    private var positions: [(service: PushService, position: ReceiptLog.Position)]

    init(_ positions: [(service: PushService, position: ReceiptLog.Position)]) {
        self.positions = positions
    }

    /// The place before all receipts that there are.
    package static let beginning = ReceiptsStart([])

    /// Where the receipts of a service begin.
    ///
    /// Where none is named, the service had no receipts then: all that it has may be the notification's.
    package subscript(service: PushService) -> ReceiptLog.Position {
        get { positions.first { $0.service == service }?.position ?? .beginning }
        set {
            positions.removeAll { $0.service == service }
            positions.append((service, newValue))
        }
    }

    /// The earlier place of both in each service's receipts.
    package func earliest(_ other: ReceiptsStart) -> ReceiptsStart {
        var earliest = self
        for service in PushService.all { earliest[service] = min(self[service], other[service]) }
        return earliest
    }

    package static func == (left: ReceiptsStart, right: ReceiptsStart) -> Bool {
        PushService.all.allSatisfy { left[$0] == right[$0] }
    }
}

extension ReceiptsStart {
    /// Reads the form that ``json`` writes. Earlier versions wrote one place, in the receipts of APNs.
    package init?(_ json: JSONValue) {
        guard let members = json.object else { return nil }
        if let position = ReceiptLog.Position(json) {
            self.init([(.apns, position)])
            return
        }
        var positions: [(service: PushService, position: ReceiptLog.Position)] = []
        for service in PushService.all {
            guard let position = members[service.rawValue].flatMap(ReceiptLog.Position.init) else {
                continue
            }
            positions.append((service, position))
        }
        if positions.isEmpty { return nil }
        self.init(positions)
    }

    /// `{"<service>": {"day", "term", "offset"}, …}`.
    package var json: JSONValue {
        var members = JSONObject()
        for (service, position) in positions { members[service.rawValue] = position.json }
        return .object(members)
    }
}
