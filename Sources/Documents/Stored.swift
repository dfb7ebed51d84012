import JSON
import Turnstone
import Unix

/// A document's content with the revision that every document has.
struct Stored<Content: Document> {
    let content: Content
    let revision: Int64
    /// Whether the lock under which it was read has a number for it. One without may be a copy of any age.
    var isNumbered = true
    /// The revision of the file that it was read from; 0 if there was none.
    var inFile: Int64 = 0

    init(content: Content, revision: Int64) {
        self.content = content
        self.revision = revision
    }

    /// The next commit. Without a number it continues from the clock's milliseconds, which are above the
    /// revisions of all copies that were made before.
    func followed(by content: Content) -> Stored {
        let next = revision.saturatingAdd(1)
        let lowest = isNumbered ? next : Timestamp.systemNow.milliseconds
        return Stored(content: content, revision: max(next, lowest))
    }

    /// - Returns: `nil` if the bytes are not a document.
    /// - Throws: `newer` if this program does not know the format.
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
                .broken,
                "unable to use \(path): its version \(version) is newer than this program's "
                    + "\(Content.version); install a newer Turnstone",
                cause: FailureCause.newer, file: path)
        }
        var rest = members
        rest["version"] = nil
        rest["revision"] = nil
        guard let content = Content(rest) else { return nil }
        self.content = content
        self.revision = revision
        inFile = revision
    }

    /// - Throws: a refusal if the text is longer than programs read.
    func checkedText() throws(Failure) -> [UInt8] {
        let text = text
        guard text.count <= Files.longest else {
            throw .refused(
                .tooLarge,
                "the stored document would exceed \(Files.longest >> 20) MiB; "
                    + "remove something from it first")
        }
        return text
    }

    private var text: [UInt8] {
        var all: JSONObject = [
            "version": .integer(content.format), "revision": .integer(revision),
        ]
        for member in content.members.members { all.append(member.name, member.value) }
        return JSON.text(.object(all)) + [UInt8(ascii: "\n")]
    }
}
