import Edge
import Health
import Turnstone

/// The parts of an answer that could not be read, and why.
struct Gaps {
    private let folder: String
    private var parts: [String] = []
    private var problems: [JSONObject] = []

    /// - Parameter folder: the state folder.
    init(in folder: String) { self.folder = folder }

    /// Reads what some parts need. If that fails, they are noted with the problem, and the result is `nil`.
    mutating func read<Value>(_ parts: String..., work: () throws(Failure) -> Value) -> Value? {
        do throws(Failure) { return try work() } catch {
            add(error, parts: parts)
            return nil
        }
    }

    /// Notes parts that a failure keeps from the answer.
    mutating func add(_ failure: Failure, parts: [String]) {
        Log().failure(failure)
        for part in parts where !self.parts.contains(part) { self.parts.append(part) }
        let problem = Problem(stateFault: failure, of: folder).members
        // Several parts are read from one file.
        if !problems.contains(problem) { problems.append(problem) }
    }

    /// The members that say so; none if everything could be read.
    var members: JSONObject {
        guard !parts.isEmpty else { return [:] }
        return [
            "problems": .array(problems.map { .object($0) }),
            "unavailable": JSONValue(texts: parts),
        ]
    }
}
