import Testing
import Turnstone

@testable import Edge

@Suite struct ProgramRouteTests {
    private static let routes = [
        ProgramRoute("GET", "/check/{user_id}", "check"),
        ProgramRoute("POST", "/register", "register"),
        ProgramRoute("POST", "/api/devices/register", "devices-register"),
        ProgramRoute("DELETE", "/api/devices/{deviceToken}", "devices-unregister"),
        ProgramRoute("POST", "/api/notify", "notify"),
        ProgramRoute("GET", "/api/notify/{id}", "notify"),
        ProgramRoute("DELETE", "/api/notify/{id}", "notify"),
    ]

    @Test(
        "a path's end and the method name a program",
        arguments: [
            ("POST", "/register", "register"), ("POST", "/go/register", "register"),
            ("POST", "/api/devices/register", "devices-register"),
            ("DELETE", "/api/devices/8086", "devices-unregister"),
            ("DELETE", "/go/api/devices/register", "devices-unregister"),
            ("POST", "/api/notify", "notify"), ("GET", "/api/notify/1", "notify"),
            ("HEAD", "/api/notify/1", "notify"), ("DELETE", "/api/notify/a%2Fb", "notify"),
            ("GET", "/api/notify/check", "notify"), ("GET", "/check/notify", "check"),
            ("OPTIONS", "/api/devices/register", "devices-register"),
            ("OPTIONS", "/api/devices/8086", "devices-unregister"),
        ])
    func named(method: String, target: String, program: String) throws {
        #expect(try Self.routes.program(for: method, path(ofTarget: target)) == program)
    }

    @Test(
        "of two patterns that fit, the longer one says which methods there are",
        arguments: [
            ("GET", "/register", "POST"), ("POST", "/api/notify/1", "GET, HEAD, DELETE"),
            ("PUT", "/api/devices/register", "POST, DELETE"),
        ])
    func wrongMethods(method: String, target: String, allowed: String) throws {
        let path = try path(ofTarget: target)
        let failure = #expect(throws: Failure.self) {
            try Self.routes.program(for: method, path)
        }
        #expect(failure?.disposition == .refused(.methodNotAllowed(allowed: allowed)))
    }

    @Test(
        "another path names none",
        arguments: [
            "/", "/notify", "/api/notify/", "/api/notify/1/2", "/registers", "/api%2Fnotify",
        ])
    func unknown(target: String) throws {
        let path = try path(ofTarget: target)
        let failure = #expect(throws: Failure.self) {
            try Self.routes.program(for: "POST", path)
        }
        #expect(failure?.disposition == .refused(.notFound))
    }
}
