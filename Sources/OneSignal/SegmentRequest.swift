import Audiences
import Edge
import Messages
import Store
import Turnstone

/// The requests of OneSignal's clients about segments.
package struct SegmentRequest {
    private let app: App
    private let request: Request
    private let state: State

    package init(_ request: Request) throws(Failure) {
        app = try App(inPathOf: request)
        self.request = request
        state = try State(request.variables)
    }

    private var id: String { request[parameter: "segment_id"] }
    private var unknown: Failure { .refused(.notFound, "Segment not found") }

    @export(interface)
    package func make() throws(Failure) -> Response {
        let change = try change(isComplete: true)
        var segment = Segment()
        segment.name = change.name ?? ""
        segment.filters = change.filter?.json ?? []
        segment.created = request.time
        segment.updated = request.time
        let id = try state.segments.make(segment)
        return Response(status: 201, body: ["success": true, "id": .string(id)])
    }

    @export(interface)
    package func list() throws(Failure) -> Response {
        let limit = try request.number("limit", in: 0...300) ?? 300
        let offset = try request.number("offset", in: 0...1_000_000) ?? 0
        let all = try state.segments.all()
        let page = all.dropFirst(offset).prefix(limit)
        return .ok([
            "total_count": .integer(Int64(all.count)), "offset": .integer(Int64(offset)),
            "limit": .integer(Int64(limit)),
            "segments": .array(page.map { shown($0.id, $0.segment) }),
        ])
    }

    private func shown(_ id: String, _ segment: Segment) -> JSONValue {
        [
            "id": .string(id), "name": .string(segment.name),
            "created_at": .string(CalendarDate(segment.created).millisecondText),
            "updated_at": .string(CalendarDate(segment.updated).millisecondText),
            "app_id": .string(app.id), "read_only": false, "is_active": true,
        ]
    }

    /// Counts a segment's subscriptions. With `include-segment-detail`, the answer has the filters too.
    @export(interface)
    package func view() throws(Failure) -> Response {
        let isDetailed = try request.query("include-segment-detail") ?? "false"
        guard isDetailed == "true" || isDetailed == "false" else {
            throw .malformed("include-segment-detail must be true or false")
        }
        guard let segment = try state.segments.find(id) else { throw unknown }
        var fields = Fields(["segments": [.string(id)]])
        let audience = try Audience(&fields, reaching: state.services)
        let count = try Outbox(state, now: request.time).count(audience)
        var body: JSONObject = ["subscriber_count": .integer(Int64(count.devices))]
        if isDetailed == "true" {
            body["payload"] = [
                "id": .string(id), "name": .string(segment.name),
                "created_at": .integer(segment.created.seconds), "source": "api",
                "filters": Filters.shown(segment.filters),
            ]
        }
        return .ok(.object(body))
    }

    @export(interface)
    package func update() throws(Failure) -> Response {
        let change = try change(isComplete: false)
        let segment = try state.segments.update(id) { (segment) throws(Failure) in
            segment.name = change.name ?? segment.name
            segment.filters = change.filter?.json ?? segment.filters
            segment.updated = request.time
        }
        guard segment != nil else { throw unknown }
        return .ok(["success": true, "id": .string(id)])
    }

    package func delete() throws(Failure) -> Response {
        guard try state.segments.remove(id) else { throw unknown }
        return .ok(["success": true])
    }

    private func change(
        isComplete: Bool
    ) throws(Failure) -> (name: String?, filter: Filter?) {
        var fields = try request.fields()
        let name = try isComplete ? fields.requiredText("name") : fields.optionalText("name")
        if let name {
            guard (1...128).contains(name.utf8.count), name.isVisible else {
                throw .malformed("name must have 1 to 128 bytes and be visible")
            }
        }
        let json = fields.take("filters")
        let filter = try json.map { (json) throws(Failure) in
            try Filter(Filters.translated(json))
        }
        guard filter != nil || !isComplete else { throw .malformed("filters is required") }
        try fields.finish(ignoring: ["id", "description"])
        return (name, filter)
    }
}
