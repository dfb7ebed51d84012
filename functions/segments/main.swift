// POST /api/segments: makes a segment, a filter with a name.
// GET /api/segments: lists the segments, oldest first.
// GET, PATCH, DELETE /api/segments/{id}: shows, changes or removes one.
//
//   in    Authorization: Key <TURNSTONE_SERVER_KEY>
//         POST {"name": "Admins", "filters": [{"field": "tag", "key": "role", "relation": "=", "value":
//         "admin"}]}, PATCH one or both of them; GET ?limit=50&offset=0
//   out   200, POST: 201 {"success": true, "segment": {"id", "name", "filters", "createdAt", "updatedAt"}};
//         the list: 200 {"success": true, "total", "offset", "limit", "segments": […]}; DELETE: 200
//   else  400 malformed or unknown member, 401 missing or unknown server key, 404 unknown id, 409 there is a
//         segment of that name, or as many as allowed, 422 a value is not allowed, 503 busy

import Audiences
import Edge
import Store
import Turnstone

serve(
    Route("POST", "/api/segments") { (request) throws(Failure) in
        try request.requireServerKey()
        var segment = Segment()
        let change = try SegmentChange(request.fields(), isComplete: true)
        change.apply(to: &segment, at: request.time)
        let id = try State(request.variables).segments.make(segment)
        return Response(status: 201, body: answer(id, segment))
    },
    Route("GET", "/api/segments") { (request) throws(Failure) in
        try request.requireServerKey()
        let limit = try request.number("limit", in: 1...200) ?? 50
        let offset = try request.number("offset", in: 0...Segments.most) ?? 0
        let all = try State(request.variables).segments.all()
        let page = all.dropFirst(offset).prefix(limit)
        return .ok([
            "success": true, "total": .integer(Int64(all.count)),
            "offset": .integer(Int64(offset)), "limit": .integer(Int64(limit)),
            "segments": .array(page.map { json(of: $0.id, $0.segment) }),
        ])
    },
    Route("GET", "/api/segments/{id}") { (request) throws(Failure) in
        try request.requireServerKey()
        let id = request[parameter: "id"]
        guard let segment = try State(request.variables).segments.find(id) else { throw unknown }
        return .ok(answer(id, segment))
    },
    Route("PATCH", "/api/segments/{id}") { (request) throws(Failure) in
        try request.requireServerKey()
        let id = request[parameter: "id"]
        let change = try SegmentChange(request.fields(), isComplete: false)
        let segment = try State(request.variables).segments.update(id) {
            (segment) throws(Failure) in change.apply(to: &segment, at: request.time)
        }
        guard let segment else { throw unknown }
        return .ok(answer(id, segment))
    },
    Route("DELETE", "/api/segments/{id}") { (request) throws(Failure) in
        try request.requireServerKey()
        let isRemoved = try State(request.variables).segments.remove(request[parameter: "id"])
        guard isRemoved else { throw unknown }
        return .ok(["success": true])
    })

var unknown: Failure { .refused(.notFound, "there is no segment with this id") }

func answer(_ id: String, _ segment: Segment) -> JSONValue {
    ["success": true, "segment": json(of: id, segment)]
}

func json(of id: String, _ segment: Segment) -> JSONValue {
    [
        "id": .string(id), "name": .string(segment.name), "filters": segment.filters,
        "createdAt": .string(CalendarDate(segment.created).millisecondText),
        "updatedAt": .string(CalendarDate(segment.updated).millisecondText),
    ]
}
