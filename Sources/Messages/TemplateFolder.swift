import JSON
import Turnstone
import Unix

/// The folder with an installation's own templates, which `EVENT_TEMPLATES` names.
package struct TemplateFolder {
    package let path: String
    private let variables: Variables

    private static let variable = "EVENT_TEMPLATES"

    /// - Returns: `nil` if the variable is not set.
    /// - Throws: misconfigured if the value is no path or a relative one. ``check()`` looks for the folder.
    @export(interface)
    package init?(_ variables: Variables) throws(Failure) {
        guard let path = try variables.path(Self.variable) else { return nil }
        guard path.utf8.first == UInt8(ascii: "/") else {
            throw variables.wrong(
                Self.variable, "must be an absolute path, such as /etc/turnstone/templates")
        }
        self.path = path
        self.variables = variables
    }

    /// Throws misconfigured if the folder cannot be read. Otherwise compiled templates would silently replace
    /// the folder's.
    package func check() throws(Failure) {
        do throws(SystemError) { _ = try FileDescriptor.open(path, .folder) } catch {
            throw unreadable(error)
        }
    }

    /// The path of an event's template.
    package func file(of event: String) -> String { "\(path)/\(event).json" }

    /// The events that have a file, in order.
    @export(interface)
    package func events() throws(Failure) -> [String] {
        try check()
        var names: [String] = []
        do throws(SystemError) { names = try Files.names(in: path) } catch {
            throw unreadable(error)
        }
        return names.filter { $0.utf8.suffix(5).elementsEqual(".json".utf8) }
            .map { String(decoding: Array($0.utf8.dropLast(5)), as: UTF8.self) }.sorted()
    }

    /// Throws misconfigured unless each file is a JSON object. `events` reports what is wrong inside it.
    @export(interface)
    package func checkFiles() throws(Failure) {
        for event in try events() {
            let path = file(of: event)
            var text: [UInt8]?
            do throws(SystemError) { text = try Files.contents(ofOperatorFile: path) } catch {
                throw variables.wrong(
                    Self.variable, "cannot read the file \(path): \(error.reasonForFile)")
            }
            guard let text else { continue }  // removed meanwhile
            var members: JSONObject?
            do throws(JSONError) { members = try JSON.parse(text).object } catch {
                throw variables.wrong(Self.variable, error.sentence(about: "the file \(path)"))
            }
            guard members != nil else {
                throw variables.wrong(Self.variable, "the file \(path) must hold a JSON object")
            }
        }
    }

    private func unreadable(_ error: SystemError) -> Failure {
        variables.wrong(
            Self.variable, "cannot read the folder \(path): \(error.reasonForFolder)")
    }
}
