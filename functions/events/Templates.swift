import Messages
import Turnstone
import Unix

/// The templates of an installation: those compiled into the program, and those in the folder
/// `EVENT_TEMPLATES`, which come first.
struct Templates {
    private let folder: TemplateFolder?

    init(_ variables: Variables) throws(Failure) { folder = try TemplateFolder(variables) }

    /// The template of an event.
    ///
    /// - Throws: unacceptable if there is none or it is damaged.
    func template(of event: String) throws(Failure) -> Template {
        guard isName(event) else {
            throw .unacceptable(
                "an event's name must be 1 to 64 lower-case letters, digits, - or _, and \(event) is not"
            )
        }
        if let text = try text(of: event) { return try Template(text) }
        guard let text = shipped.first(where: { $0.event == event }) else {
            throw .unacceptable(
                "there is no template for the event \(event); GET /api/events lists the events")
        }
        return try Template(text)
    }

    /// - Throws: misconfigured if the folder is missing or not a folder, unacceptable if the template's file
    ///   cannot be used, for example because of its owner.
    private func text(of event: String) throws(Failure) -> TemplateText? {
        guard let folder else { return nil }
        let bytes: [UInt8]?
        do throws(SystemError) {
            bytes = try Files.contents(ofOperatorFile: folder.file(of: event))
        } catch {
            try folder.check()
            guard error.errno.isFileSpecific else { throw error.failure }
            throw .unacceptable(
                "the template \(event) cannot be read: \(error.reasonForFile)")
        }
        if bytes == nil { try folder.check() }
        return bytes.map { TemplateText(event: event, text: String(decoding: $0, as: UTF8.self)) }
    }

    /// The names of all events with a template.
    private func names() throws(Failure) -> [String] {
        var names = shipped.map { $0.event }
        if let folder { names += try folder.events().filter { !names.contains($0) } }
        return names.sorted()
    }

    /// Lists all templates. Checks each with its own example.
    func list(now: Timestamp) throws(Failure) -> JSONValue {
        var events: [JSONValue] = []
        var problems: [JSONValue] = []
        for name in try names() {
            do throws(Failure) {
                let template = try template(of: name)
                try template.check(now: now)
                events.append(json(of: template))
            } catch { problems.append(.string(error.sentence)) }
        }
        return ["success": true, "events": .array(events), "problems": .array(problems)]
    }

    private func json(of template: Template) -> JSONValue {
        [
            "event": .string(template.event), "kind": .string(template.kind),
            "required": .array(template.required.map { .string($0) }),
            "optional": .array(template.optional.map { .string($0) }),
        ]
    }
}

/// Lower-case letters, digits, `-` and `_`: a name that is safe in a path.
private func isName(_ text: String) -> Bool {
    (1...64).contains(text.utf8.count)
        && text.utf8.allSatisfy {
            (UInt8(ascii: "a")...UInt8(ascii: "z")).contains($0)
                || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0)
                || $0 == UInt8(ascii: "-") || $0 == UInt8(ascii: "_")
        }
}
