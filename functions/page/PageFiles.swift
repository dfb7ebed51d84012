import Edge
import Turnstone
import Unix

/// The files of the pages, as a request may get them.
struct PageFiles {
    private let request: Request
    private let root: String

    init(_ request: Request) throws(Failure) {
        self.request = request
        root = try request.variables.path("TURNSTONE_PAGE") ?? "/usr/share/turnstone/page"
    }

    /// The folders that have pages of their own. Any other folder in a path is an installation's prefix.
    private static let folders = ["admin", "reference", "signup"]

    /// - Parameters:
    ///   - folder: the path's last segment but one, if there is any.
    ///   - file: its last segment; empty after a slash.
    func answer(folder: String?, file: String) throws(Failure) -> Response {
        let folder = folder.flatMap { Self.folders.contains($0) ? $0 : nil }
        if folder == nil, file == "admin" { return redirect(to: "admin/") }
        let name = file.isEmpty ? "index.html" : file
        guard let type = mediaType(of: name) else { throw missing }
        // The description of all routes lies beside the pages.
        let isBeside = folder == nil && name == "openapi.json"
        let path =
            isBeside ? "\(root)/../\(name)" : "\(root)/\(folder.map { "\($0)/" } ?? "")\(name)"
        guard let stamp = try systemCalls({ () throws(SystemError) in try Files.stamp(of: path) }),
            let bytes = try systemCalls({ () throws(SystemError) in try Files.contents(path) })
        else { throw missing }
        let tag = "\"\(hex(stamp.seconds))-\(hex(stamp.nanoseconds))-\(hex(stamp.size))\""
        var response = Response(status: 200, bytes: bytes, type: type)
        if request.hasCopy(tag) { response = Response(status: 304, bytes: [], type: type) }
        response.headers = Self.headers + [("ETag", tag)]
        return response
    }

    private var missing: Failure { .refused(.notFound, "there is no such page") }

    private func redirect(to place: String) -> Response {
        var response = Response(status: 308, bytes: [], type: "text/plain")
        response.headers = Self.headers + [("Location", place)]
        return response
    }

    /// As infra/nginx has them.
    private static let headers: [(name: String, value: String)] = [
        (
            "Content-Security-Policy",
            "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; manifest-src 'self'; worker-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
        ),
        ("Cache-Control", "no-cache"), ("Referrer-Policy", "no-referrer"),
        ("Cross-Origin-Opener-Policy", "same-origin"),
        ("Cross-Origin-Resource-Policy", "same-origin"),
    ]

    /// - Returns: `nil` if no page has a file of that name: it must be lower-case letters, digits and hyphens
    ///   before a known ending.
    private func mediaType(of name: String) -> String? {
        let parts = name.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        guard parts.count == 2, !parts[0].isEmpty, parts[0].allSatisfy(isNameByte) else {
            return nil
        }
        return switch String(parts[1]) {
        case "html": "text/html; charset=utf-8"
        case "css": "text/css; charset=utf-8"
        case "js": "text/javascript; charset=utf-8"
        case "json": "application/json"
        case "webmanifest": "application/manifest+json"
        case "svg": "image/svg+xml"
        case "png": "image/png"
        default: nil
        }
    }

    private func isNameByte(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"),
            UInt8(ascii: "-"):
            true
        default: false
        }
    }
}

private func hex(_ number: Int64) -> String { String(number, radix: 16) }
