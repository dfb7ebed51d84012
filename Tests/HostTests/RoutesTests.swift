import Foundation
import TestSupport
import Testing

/// One list of routes, which the programs, every host and fcgiwrap keep to.
@Suite struct RoutesTests {
    @Test func theListIsWhatTheProgramsAnswer() throws {
        let functions = "\(Route.repository)/functions"
        var answered: Set<Route> = []
        // nginx serves the pages' files itself, and the other servers have no pages.
        for program in try Route.folders() where program != "page" {
            let source = try String(
                contentsOfFile: "\(functions)/\(program)/main.swift", encoding: .utf8)
            for match in source.matches(of: /Route\(\s*"([A-Z]+)",\s*"([^"]+)"/) {
                answered.insert(
                    Route(
                        method: String(match.output.1), pattern: String(match.output.2),
                        program: program))
            }
        }
        #expect(try Set(Route.all()) == answered)
    }

    @Test(
        "every host's list is made of it",
        arguments: [
            ("nginx", "infra/nginx/turnstone-routes.conf"),
            ("lighttpd", "infra/lighttpd/turnstone-routes.conf"),
            ("apache", "infra/apache/turnstone-routes.conf"),
            ("inetd", "functions/front/Routes.swift"),
        ])
    func lists(host: String, file: String) throws {
        let list = try String(contentsOfFile: "\(Route.repository)/\(file)", encoding: .utf8)
        #expect(try made(for: host) == list)
    }

    /// Servers go by the path, and leave methods to the programs.
    @Test func aPathBelongsToOneProgram() throws {
        let programs = try Dictionary(grouping: Route.all(), by: \.pattern)
        for (pattern, routes) in programs {
            #expect(Set(routes.map(\.program)).count == 1, "\(pattern)")
        }
    }

    @Test(
        "a prefix goes before each path",
        arguments: [
            ("nginx", ##""~^/go/push/register/[^/?]+(\?|$)" register;"##),
            ("lighttpd", ##""^/go/push/register/[^/?]+(\?|$)" => "/programs/register""##),
            ("apache", "?/go/push/register/[^/? ]+[? ]"),
        ])
    func prefixes(host: String, line: String) throws {
        let list = try made(for: host, "/go/push")
        #expect(list.contains(line))
        let paths = try Set(Route.all().map(\.pattern)).count
        #expect(list.matches(of: /[\^?]\/go\/push[\/(]/).count == paths)
        #expect(try made(for: host, "go;") == "")
    }

    @Test(
        "OneSignal's routes are below /api/v1, too, and below a prefix of their own",
        arguments: [
            ("nginx", ##""~^/go/os(/api/v1)?/players(\?|$)" onesignal-players;"##),
            ("lighttpd", ##""^/go/os(/api/v1)?/players(\?|$)" => "/programs/onesignal-players""##),
            ("apache", "?/go/os(/api/v1)?/players[? ]"),
        ])
    func foreignPrefixes(host: String, line: String) throws {
        #expect(try made(for: host, "/go", foreignPrefix: "/os").contains(line))
        #expect(try made(for: host, "/go").contains(line.replacing("/os", with: "")))
        #expect(try made(for: host, foreignPrefix: "os;") == "")
    }

    @Test func fcgiwrapMayStartTheirProgramsAndNoOthers() throws {
        let service = try String(
            contentsOfFile: "\(Route.repository)/infra/systemd/turnstone-fcgi@.service",
            encoding: .utf8)
        let allowed = service.matches(of: /-p \/usr\/lib\/turnstone\/([a-z-]+)/)
            .map { String($0.output.1) }
        #expect(try allowed.sorted() == Route.programs())
    }

    private func made(
        for host: String, _ arguments: String..., foreignPrefix: String = ""
    ) throws -> String {
        let process = Process()
        process.environment = ["PATH": "/usr/bin:/bin", "ONESIGNAL_PREFIX": foreignPrefix]
        process.executableURL = URL(
            fileURLWithPath: "\(Route.repository)/infra/\(host)/make-routes")
        process.arguments = arguments
        let output = Pipe()
        process.standardOutput = output
        try process.run()
        let text = output.fileHandleForReading.readDataToEndOfFile()
        process.waitUntilExit()
        return String(decoding: text, as: UTF8.self)
    }
}
