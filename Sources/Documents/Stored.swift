import JSON
import Turnstone
import Unix

/// A document with what every document has.
struct Stored<Content: Document> {
    let content: Content
    let revision: Int64

    init(content: Content, revision: Int64) {
        self.content = content
        self.revision = revision
    }

    /// - Returns: `nil` where the bytes are no document.
    /// - Throws: `newer` for a format that this program does not know.
    init?(_ bytes: [UInt8], _ path: String) throws(Failure) {
        let members: JSONObject?
        do throws(JSONError) {
            members = try JSON.parse(bytes, depthLimit: JSON.storedDepthLimit).object
        } catch { return nil }
        guard let members, let version = members["version"]?.integer,
            let revision = members["revision"]?.integer, revision > 0
        else { return nil }
        guard version <= Content.version else {
            throw Failure(
                .broken, "unable to use \(path): its version \(version) is newer than this program",
                cause: "newer", file: path)
        }
        var rest = members
        rest["version"] = nil
        rest["revision"] = nil
        guard let content = Content(rest) else { return nil }
        self.content = content
        self.revision = revision
    }

    /// - Throws: where no program could read it again.
    func checkedText() throws(Failure) -> [UInt8] {
        let text = text
        guard text.count <= Files.longest else {
            throw .refused(.tooLarge, "what is stored of this would exceed 16 MiB")
        }
        return text
    }

    private var text: [UInt8] {
        var all: JSONObject = [
            "version": .integer(Content.version), "revision": .integer(revision),
        ]
        for member in content.members.members { all.append(member.name, member.value) }
        return JSON.text(.object(all)) + [UInt8(ascii: "\n")]
    }
}
