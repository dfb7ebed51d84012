import Foundation
import JSON
import TestSupport
import Testing
import Turnstone

/// Requests that `front` passes on. The tables of malformed requests go through it as well.
@Suite struct FrontTests {
    /// The programs that answer requests. Scheduled programs and the operator's tools do not.
    private static let answered = FixtureName.all.filter {
        !(Endpoint.scheduled + ["front", "storage-test"]).contains($0.program)
            // Behind front, this is the page's path.
            && $0.file.lastPathComponent != "404-openwhisk-at-the-root.json"
    }

    @Test("behind front a program answers as it does alone", arguments: answered)
    func fixture(name: FixtureName) throws {
        var here = try Installation()
        let fixture = try Fixture(name, in: here)
        try here.prepare(fixture)
        let before = here.state.files()
        let ended = try Programs.run(
            "front", stdin: fixture.request.input, environment: here.environment)
        #expect(ended.exitCode == fixture.exitCode)
        let answer = try fixture.request.answer(ended.stdout)
        #expect(.integer(Int64(answer.status)) == fixture.answer?["status"])
        if let body = fixture.answer?["body"] {
            #expect(
                answer.json.map { Pattern.matches($0, body) } ?? (body == .string(answer.body)),
                "\(answer.body)")
        }
        if fixture.then.members.isEmpty {
            let isKept = { (name: String) in
                !name.hasSuffix(".lock") && !name.hasPrefix("audience/")
            }
            #expect(
                here.state.files().filter { isKept($0.key) } == before.filter { isKept($0.key) })
        }
    }

    /// Standard input is a socket in all other tests.
    @Test(
        "what a pipe or a file brings is handed on",
        arguments: ["printf '%s' \"$REQUEST\" | exec \"$FRONT\"", "exec \"$FRONT\" <\"$FILE\""],
        [
            "POST /register HTTP/1.1\r\nHost: a\r\n{K}Content-Length: {N}\r\n\r\n{B}",
            #"{"method":"POST","path":"/register","headers":{"X-API-Key":"{KEY}"},"body":{B}}"#,
        ])
    func pipesAndFiles(command: String, request: String) throws {
        let here = try Endpoint.installation()
        let body = #"{"user_id": "1783478", "device_token": "\#(Endpoint.token)"}"#
        let text = request.replacing("{K}", with: "X-API-Key: {KEY}\r\n")
            .replacing("{KEY}", with: Endpoint.key).replacing("{N}", with: "\(body.utf8.count)")
            .replacing("{B}", with: body)
        let folder = TemporaryFolder()
        try folder.write(text, to: "request")
        var environment = here.environment
        environment["REQUEST"] = text
        environment["FILE"] = "\(folder.path)/request"
        environment["FRONT"] = Programs.path("front")
        let ended = try Programs.start(
            at: "/bin/sh", ["-c", command], entries: environment.map { "\($0.key)=\($0.value)" }
        ).end()
        #expect(ended.stdout.contains(#"registered"#), "\(ended.stdout)\(ended.stderr)")
        let user = String(decoding: here.state.read("users/eb/1783478.json") ?? [], as: UTF8.self)
        #expect(user.contains(Endpoint.token))
    }

    @Test func theTimeThatFrontHasWaitedCounts() throws {
        let folder = TemporaryFolder()
        try folder.writeProgram("#!/bin/sh\necho $TURNSTONE_DEADLINE\n", to: "health")
        try folder.copyProgram(Programs.path("front"), to: "front")
        let request = Array("GET /health HTTP/1.1\r\n\r\n".utf8)
        let ended = try Programs.start(at: "\(folder.path)/front", input: request, entries: [])
            .end()
        #expect(Int64(ended.stdout.trimmingCharacters(in: .newlines)) ?? 0 > 0)

        // A program with a deadline in the past does not wait.
        let here = try Endpoint.installation()
        for endpoint in Endpoint.withBody {
            let input = Array("\(endpoint.method) \(endpoint.path) HTTP/1.1\r\n".utf8)
            let attempt = Attempt(
                endpoint: endpoint, front: .http, input: input, entries: ["TURNSTONE_DEADLINE=1"])
            try attempt.check(attempt.start(in: here, inputStaysOpen: true).end(timeLimit: 8), 408)
        }
    }

    /// The files of infra/page by their paths in an address, without what is not served.
    private static let pageFiles: [String] = {
        let folder = "\(Route.repository)/infra/page"
        let all = FileManager.default.enumerator(atPath: folder)?.allObjects as? [String] ?? []
        return all.filter { $0.contains(".") && !$0.hasSuffix("README.md") }.sorted()
    }()

    @Test("front serves each file of the pages, with the headers that nginx gives it")
    func pageFiles() throws {
        let root = "\(Route.repository)/infra"
        let configuration = try String(
            contentsOfFile: "\(root)/nginx/turnstone.conf", encoding: .utf8)
        let section = try #require(
            configuration.split(separator: "location /turnstone-page/ {").last)
        let headers = section.prefix { $0 != "}" }
        let more = section.drop { $0 != "}" }.dropFirst().prefix { $0 != "}" }
        let wanted = "\(headers)\(more)".matches(of: /add_header (\S+) (?:"([^"]+)"|([^";]+));/)
            .map { ("\($0.output.1)", "\($0.output.2 ?? $0.output.3 ?? "")") }
        #expect(wanted.count == 6)
        #expect(Self.pageFiles.count > 30)
        let here = try Installation()
        var environment = here.environment
        environment["TURNSTONE_PAGE"] = "\(root)/page"
        func answer(_ path: String, _ more: String = "") throws -> (Answer, [UInt8]) {
            let ended = try Programs.run(
                "front", stdin: "GET /\(path) HTTP/1.1\r\nHost: a\r\n\(more)\r\n",
                environment: environment)
            let end = ended.output.firstRange(of: Array("\r\n\r\n".utf8))?.upperBound ?? 0
            let head = String(decoding: ended.output[..<end], as: UTF8.self)
            return (try Answer(http: head), Array(ended.output[end...]))
        }
        for file in Self.pageFiles {
            let path = file.hasSuffix("index.html") ? String(file.dropLast(10)) : file
            let (got, body) = try answer(path)
            #expect(got.status == 200, "\(file)")
            #expect(
                body == Array(try Data(contentsOf: URL(fileURLWithPath: "\(root)/page/\(file)"))))
            for (name, value) in wanted {
                #expect(got.headers[name.lowercased()] == value, "\(file)")
            }
            let tag = try #require(got.headers["etag"])
            let again = try answer(path, "If-None-Match: W/\(tag)\r\n")
            #expect(again.0.status == 304 && again.1.isEmpty, "\(file)")
        }
    }

    @Test(
        "a page reads what front answers itself",
        arguments: [("GET", "/api/nothing", 404), ("PUT", "/api/devices", 405)],
        ["CGI", "HTTP", "event"])
    func pages(request: (method: String, path: String, status: Int), form: String) throws {
        let here = try Endpoint.installation()
        let (method, path, status) = request
        let origin = "https://app.example.org"
        var environment = here.environment
        environment["ALLOWED_ORIGINS"] = origin
        var input = ""
        switch form {
        case "CGI":
            environment["GATEWAY_INTERFACE"] = "CGI/1.1"
            environment["REQUEST_METHOD"] = method
            environment["REQUEST_URI"] = path
            environment["HTTP_ORIGIN"] = origin
        case "HTTP": input = "\(method) \(path) HTTP/1.1\r\nHost: a\r\nOrigin: \(origin)\r\n\r\n"
        default:
            input = String(
                decoding: JSON.text([
                    "method": .string(method), "path": .string(path),
                    "headers": ["Origin": .string(origin)],
                ]), as: UTF8.self)
        }
        let ended = try Programs.run(
            "front", stdin: input, environment: environment)
        let answer = ended.stdout.lowercased()
        #expect(answer.contains("\(status)"))
        #expect(answer.contains("access-control-allow-origin"), "\(answer)")
        #expect(answer.contains(origin))
    }

    @Test func aProgramThatIsNotThereIsA500() throws {
        let folder = TemporaryFolder()
        try folder.copyProgram(Programs.path("front"), to: "front")
        let request = Array("GET /health HTTP/1.1\r\n\r\n".utf8)
        let ended = try Programs.start(at: "\(folder.path)/front", input: request, entries: [])
            .end()
        #expect(try Answer(http: ended.stdout).status == 500)
        #expect(
            ended.stderr.contains(
                "unable to start \(folder.path)/health: it does not exist (ENOENT)"))
    }
}
