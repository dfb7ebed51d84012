// POST, GET /apps/{app_id}/segments: makes a segment, and lists all.
// GET, PATCH, DELETE /apps/{app_id}/segments/{segment_id}: counts, changes or removes one.
//
//   in    Authorization: Key, Basic or nothing, and a key of TURNSTONE_SERVER_KEY
//         {"name", "filters": [{"field": "tag", "key": "role", "relation": "=", "value": "admin"}]}
//   out   POST 201, PATCH 200 {"success": true, "id"}; GET {"total_count", "offset", "limit", "segments"} or
//         {"subscriber_count", "payload"?}; DELETE {"success": true}
//   else  400 malformed, unknown or unsupported member, 403 missing or unknown key, 404 unknown segment, 409
//         the name is taken, 503 busy; always {"errors": ["…"]}

import Edge
import OneSignal
import Turnstone

serve(
    Route("POST", "/apps/{app_id}/segments") { (request) throws(Failure) in
        try SegmentRequest(request).make()
    },
    Route("GET", "/apps/{app_id}/segments") { (request) throws(Failure) in
        try SegmentRequest(request).list()
    },
    Route("GET", "/apps/{app_id}/segments/{segment_id}") { (request) throws(Failure) in
        try SegmentRequest(request).view()
    },
    Route("PATCH", "/apps/{app_id}/segments/{segment_id}") { (request) throws(Failure) in
        try SegmentRequest(request).update()
    },
    Route("DELETE", "/apps/{app_id}/segments/{segment_id}") { (request) throws(Failure) in
        try SegmentRequest(request).delete()
    })
