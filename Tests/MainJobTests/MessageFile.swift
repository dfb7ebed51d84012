import Foundation
import TestSupport
import Testing
import Turnstone

/// A message's file as `notify` wrote it, of which others are made: thousands of messages, without a program for
/// each.
struct MessageFile {
    private let world: World
    private let folder: String
    private let id: String
    private let title: String
    private let text: String
    /// Its place in the order of acceptance, in nanoseconds since 1970.
    let order: Int64

    init(_ id: String, titled title: String, in world: World) throws {
        (self.world, self.id, self.title) = (world, id, title)
        // One that a drainer has put elsewhere is not where new ones arrive.
        guard
            let path = world.spooled().first(where: {
                $0.hasSuffix("/urgent/\(id).jsonl") || $0.hasSuffix("/normal/\(id).jsonl")
            }), let bytes = world.state.read(path)
        else { throw TestFailure("a drainer has taken \(id)") }
        folder = String(path.dropLast("/\(id).jsonl".count))
        text = String(decoding: bytes, as: UTF8.self)
        order = try #require(Int64(text.firstMatch(of: /"order":([0-9]+)/)?.1 ?? ""))
    }

    /// Lets another message to the same user be accepted.
    ///
    /// - Parameter isKeyed: whether its id is as it gets it from an idempotency key.
    func add(titled title: String, order: Int64, isKeyed: Bool = false) throws {
        let random = UUID().uuidString.lowercased()
        let id = isKeyed ? random : "\(random.dropLast(4))\(self.id.suffix(4))"
        let copy = text.replacing(self.id, with: id)
            .replacing("\"\(self.title)\"", with: "\"\(title)\"")
            .replacing("\"order\":\(self.order)", with: "\"order\":\(order)")
        // A drainer may be reading the folder.
        try world.state.write(copy, to: "spool/\(id).jsonl")
        try FileManager.default.moveItem(
            atPath: "\(world.state.path)/spool/\(id).jsonl",
            toPath: "\(world.state.path)/\(folder)/\(id).jsonl")
    }
}
