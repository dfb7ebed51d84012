import Crypto
import Documents
import Turnstone
import Unix

/// All segments. There are few, so they are found by reading them all.
package struct Segments {
    let state: State

    /// The most that may exist.
    package static let most = 1000

    /// The names that mean everybody to OneSignal's clients, so no segment may have one of them (OneSignal:
    /// *Segmentation*, default segments).
    package static let namesOfAll = [
        "All", "All Users", "Subscribed Users", "All Subscriptions", "Total Subscriptions",
        "All Subscribed Users",
    ]

    package typealias Entry = (id: String, segment: Segment)

    private var shelf: Shelf<DocumentName, Segment> {
        Shelf(folder: "\(state.folder)/segments", isLocal: state.isLocal)
    }

    private func document(_ id: String) -> StoredDocument<Segment> {
        shelf[DocumentName(single: id)]
    }

    /// All segments, oldest first.
    @export(interface)
    package func all() throws(Failure) -> [Entry] {
        var entries: [Entry] = []
        for name in try systemCalls(Files.names(in: shelf.folder))
        where name.utf8.suffix(5).elementsEqual(".json".utf8) {
            let id = String(decoding: Array(name.utf8.dropLast(5)), as: UTF8.self)
            guard let segment = try document(id).read() else { continue }
            entries.append((id, segment))
        }
        return entries.sorted {
            ($0.segment.created, $0.id) < ($1.segment.created, $1.id)
        }
    }

    /// The segment with an id; `nil` if there is none.
    @export(interface)
    package func find(_ id: String) throws(Failure) -> Segment? {
        isID(id) ? try document(id).read() : nil
    }

    /// The segment that a request means: the one with this id, else the one with this name.
    @export(interface)
    package static func find(_ text: String, among entries: [Entry]) -> Entry? {
        entries.first { $0.id == text }
            ?? entries.first { $0.segment.name.utf8.elementsEqual(text.utf8) }
    }

    /// A request names a segment that does not exist.
    package static func unknown(_ name: String) -> Failure {
        .unacceptable("there is no segment \(name)")
    }

    /// Makes a segment.
    ///
    /// - Throws: a conflict if there is one of that name, or as many as there may be.
    @export(interface)
    package func make(_ segment: Segment) throws(Failure) -> String {
        try holdingNames { () throws(Failure) in
            let entries = try all()
            try check(segment.name, besides: nil, entries)
            guard entries.count < Self.most else {
                throw .refused(.conflict, "there are as many segments as allowed (\(Self.most))")
            }
            let random = try randomBytes(16)
            let id = stableUUID("segment \(hex(random))")
            try document(id).update { $0 = segment }
            return id
        }
    }

    /// Changes a segment.
    ///
    /// - Returns: the segment afterwards; `nil` if there is none with this id.
    @export(interface)
    package func update(
        _ id: String, _ change: (inout Segment) throws(Failure) -> Void
    ) throws(Failure) -> Segment? {
        guard isID(id) else { return nil }
        return try holdingNames { () throws(Failure) in
            guard var segment = try document(id).read() else { return nil }
            let former = segment.name
            try change(&segment)
            if !segment.name.utf8.elementsEqual(former.utf8) {
                try check(segment.name, besides: id, all())
            }
            try document(id).update { $0 = segment }
            return segment
        }
    }

    /// Removes a segment.
    ///
    /// - Returns: whether it was there.
    @export(interface)
    package func remove(_ id: String) throws(Failure) -> Bool {
        guard isID(id) else { return false }
        return try holdingNames { () throws(Failure) in
            let isRemoved = try document(id).remove { _ in true }
            // Also if it was not there: the program that removed it may have failed at this.
            let isFolder = try systemCalls(Files.exists(shelf.folder))
            if isFolder { try systemCalls(Files.synchronizeFolder(shelf.folder)) }
            return isRemoved
        }
    }

    private func check(_ name: String, besides id: String?, _ entries: [Entry]) throws(Failure) {
        guard !isID(name) else {
            throw .unacceptable("name must not have the form of a segment's id")
        }
        guard !Self.namesOfAll.contains(where: { $0.utf8.elementsEqual(name.utf8) }) else {
            throw .unacceptable("name must not be \(name), which means everybody")
        }
        let isTaken = entries.contains {
            $0.id != id && $0.segment.name.utf8.elementsEqual(name.utf8)
        }
        guard !isTaken else { throw .refused(.conflict, "there is a segment named \(name)") }
    }

    /// Runs `body` while nobody else makes, renames or removes a segment.
    private func holdingNames<Result>(
        _ body: () throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try Lock.holding(shelf.folder) { (_) throws(Failure) in try body() }
    }
}

extension State {
    package var segments: Segments { Segments(state: self) }
}
