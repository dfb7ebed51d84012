import Testing
import Turnstone

@testable import Edge

@Suite struct RouterTests {
    private static let programs = [
        ProgramRoute("GET", "/check/{user_id}", "check"),
        ProgramRoute("POST", "/register", "register"),
        ProgramRoute("DELETE", "/register/{device_token}", "register"),
        ProgramRoute("POST", "/api/devices/register", "devices-register"),
        ProgramRoute("DELETE", "/api/devices/{deviceToken}", "devices-unregister"),
        ProgramRoute("POST", "/api/notify", "notify"),
        ProgramRoute("GET", "/api/notify/{id}", "notify"),
        ProgramRoute("DELETE", "/api/notify/{id}", "notify"),
    ]
    /// Those of `front`.
    private static let all = Router(programs.map(\.pattern))
    private static let register = Router(
        programs.filter { $0.program == "register" }.map(\.pattern))
    private static let notify = Router(programs.filter { $0.program == "notify" }.map(\.pattern))

    @Test(
        "a path's end and the method name a program",
        arguments: [
            ("POST", "/register", "register"), ("POST", "/go/register", "register"),
            ("POST", "/api/devices/register", "devices-register"),
            ("DELETE", "/api/devices/8086", "devices-unregister"),
            ("POST", "/api/notify", "notify"), ("GET", "/api/notify/1", "notify"),
            ("HEAD", "/api/notify/1", "notify"), ("DELETE", "/api/notify/a%2Fb", "notify"),
            ("GET", "/api/notify/check", "notify"), ("GET", "/check/notify", "check"),
            ("OPTIONS", "/api/devices/register", "devices-register"),
            ("OPTIONS", "/api/devices/8086", "devices-unregister"),
        ])
    func named(method: String, target: String, program: String) throws {
        let route = try Self.all.program(for: method, at: target)
        #expect(Self.programs[route.index].program == program)
    }

    @Test(
        "of two patterns that fit, the longer one says which methods there are",
        arguments: [
            ("GET", "/register", "POST"), ("POST", "/api/notify/1", "GET, HEAD, DELETE"),
            ("PUT", "/api/devices/register", "POST"),
            ("DELETE", "/go/api/devices/register", "POST"),
            ("POST", "/register/register", "DELETE"), ("POST", "/register/8086", "DELETE"),
        ])
    func wrongMethods(method: String, target: String, allowed: String) throws {
        let failure = #expect(throws: Failure.self) {
            try Self.all.program(for: method, at: target)
        }
        #expect(failure?.disposition == .refused(.methodNotAllowed(allowed: allowed)))
    }

    @Test(
        "another path names none",
        arguments: [
            "/", "/notify", "/api/notify/", "/api/notify/1/2", "/registers", "/api%2Fnotify",
        ])
    func unknown(target: String) throws {
        let failure = #expect(throws: Failure.self) {
            try Self.all.program(for: "POST", at: target)
        }
        #expect(failure?.disposition == .refused(.notFound))
    }

    @Test(
        "a path that begins like one of OneSignal's has its form of errors",
        arguments: [
            ("/players/1/on_focus", true), ("/api/v1/players/1/2/3", true), ("/x/players", true),
            ("/apps/1/nothing", true), ("/api/players/1/2", false),
            ("/api/users/ann/players", false), ("/nothing", false), ("/api/v1/nothing", false),
            ("/players/%FF", true), ("/apps/1/%/x", true), ("/apps/../x", true), ("/%FF", false),
        ])
    func oneSignals(target: String, isTheirs: Bool) {
        let theirs = [
            RoutePattern("GET", "/players/{player_id}"), RoutePattern("GET", "/apps/{app_id}"),
        ]
        let front = Router(Self.programs.map(\.pattern) + theirs)
        #expect((front.errorForm(at: target) == .oneSignal) == isTheirs)
    }

    @Test(
        "a program's own router agrees with front's",
        arguments: ["GET", "HEAD", "POST", "PUT", "DELETE"],
        ["/register", "/register/8086", "/register/register", "/go/register/register/8086"])
    func agreement(method: String, target: String) {
        func answer(_ router: Router) -> Result<RoutePattern, Failure> {
            Result { () throws(Failure) in
                try router.routes(for: method, at: target).route(for: method).pattern
            }
        }
        switch (answer(Self.all), answer(Self.register)) {
        case (.success(let one), .success(let other)):
            #expect(one.method == other.method && one.path == other.path)
        case (.failure(let one), .failure(let other)): #expect(one == other)
        default: Issue.record("one has a route, the other has not")
        }
    }

    @Test(
        "a malformed request is refused before anything is looked up",
        arguments: [
            ("", "/x", "the request has no method; a CGI host must set REQUEST_METHOD"),
            ("A B", "/", "the method is malformed: it must be a word such as GET"),
            ("", "", "the request has no method; a CGI host must set REQUEST_METHOD"),
            ("GET", "x", "the path must begin with /"),
            ("GET", "", "the request has no path; a CGI host must set REQUEST_URI"),
        ])
    func malformed(method: String, target: String, sentence: String) {
        #expect(throws: Failure.malformed(sentence)) {
            try Self.all.routes(for: method, at: target)
        }
    }

    @Test(
        "a failure has the form of the route that fits, or of the API's prefix where none does",
        arguments: [
            ("/api/notify", true), ("/go/api/notify/1", true), ("/api/nothing", true),
            ("/go/api", true),
            ("/check/api", false), ("/api/register", false), ("/api/register/8086", false),
            ("/nothing", false), ("/apis", false), ("/api%2Fnotify", false), ("", false),
            ("/api/%FF", true), ("/%FF", false),
        ])
    func form(target: String, isAPI: Bool) {
        #expect((Self.all.errorForm(at: target) == .api) == isAPI)
    }

    @Test(
        "a program's failures have one form, whatever the path",
        arguments: ["/api/nothing", "/nothing", "/api/notify", "/register", ""])
    func formOfOneProgram(target: String) {
        #expect(Self.notify.errorForm(at: target) == .api)
        #expect(Self.register.errorForm(at: target) == .plain)
    }
}
