import Audiences
import Edge
import Store
import Turnstone

/// The change of a segment that a request asks for.
struct SegmentChange {
    private let name: String?
    private let filter: Filter?

    /// - Parameter isComplete: whether both members are required.
    init(_ body: Fields, isComplete: Bool) throws(Failure) {
        var fields = body
        name = try isComplete ? fields.requiredText("name") : fields.text("name")
        if let name {
            guard (1...128).contains(name.utf8.count), name.isVisible else {
                throw .unacceptable("name must have 1 to 128 bytes and be visible")
            }
        }
        filter = try fields.take("filters").map { (json) throws(Failure) in try Filter(json) }
        guard filter != nil || !isComplete else { throw .malformed("filters is required") }
        try fields.finish()
    }

    func apply(to segment: inout Segment, at now: Timestamp) {
        let before = segment
        segment.name = name ?? segment.name
        segment.filters = filter?.json ?? segment.filters
        guard segment != before else { return }
        if before.name.isEmpty { segment.created = now }
        segment.updated = now
    }
}
