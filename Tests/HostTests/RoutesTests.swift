import Foundation
import TestSupport
import Testing

/// One list of routes, which the programs, nginx and fcgiwrap keep to.
@Suite struct RoutesTests {
    @Test func theListIsWhatTheProgramsAnswer() throws {
        let functions = "\(Route.repository)/functions"
        var answered: Set<Route> = []
        for program in try FileManager.default.contentsOfDirectory(atPath: functions) {
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

    @Test func nginxsListIsMadeOfIt() throws {
        let list = try String(
            contentsOfFile: "\(Route.repository)/infra/nginx/turnstone-routes.conf", encoding: .utf8
        )
        #expect(try made(for: "nginx") == list)
    }

    @Test func frontsListIsMadeOfIt() throws {
        let list = try String(
            contentsOfFile: "\(Route.repository)/functions/front/Routes.swift", encoding: .utf8)
        #expect(try made(for: "inetd") == list)
    }

    @Test func aPrefixGoesBeforeEachPath() throws {
        let list = try made(for: "nginx", "/go/push")
        #expect(list.contains(##""~^/go/push/register/[^/?]+(\?|$)" register;"##))
        #expect(!list.contains(##""~^/register"##))
    }

    @Test func fcgiwrapMayStartTheirProgramsAndNoOthers() throws {
        let service = try String(
            contentsOfFile: "\(Route.repository)/infra/nginx/turnstone-fcgi.service",
            encoding: .utf8)
        let allowed = service.matches(of: /-p \/usr\/local\/lib\/turnstone\/([a-z-]+)/)
            .map { String($0.output.1) }
        #expect(try allowed.sorted() == Route.programs())
    }

    private func made(for host: String, _ arguments: String...) throws -> String {
        let process = Process()
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
