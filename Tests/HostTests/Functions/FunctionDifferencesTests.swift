import Foundation
import TestSupport
import Testing

/// The changes that runners make to a request on its way: the same requests over each, and their statuses. If
/// a runner differs from the others, its README says so, and why.
@Suite struct FunctionDifferencesTests {
    @Test("a runner passes requests on as its README says", arguments: FunctionRunner.allCases)
    func requests(runner: FunctionRunner) throws {
        let site = try FunctionSite(runner)
        for row in Row.all {
            let name: Comment = "\(runner) \(row.name)"
            try Installed.player(at: site)
            let before = site.state.files()
            let expected = row.exceptions[runner] ?? row.status
            let answer = try site.answer(row.request)
            #expect(answer?.status == expected, name)
            #expect(answer == nil || answer?.json?.object != nil, name)
            #expect(answer?.body.contains(Installed.key) != true, name)
            if expected != 200 { #expect(site.state.files() == before, name) }
        }
        #expect(site.faults == [])
    }
}

private struct Row {
    let name: String
    let request: HostRequest
    let status: Int
    /// `nil`: the runner answers by itself.
    let exceptions: [FunctionRunner: Int?]

    init(
        _ name: String, _ method: String, _ target: String, _ headers: [(String, String)] = [key],
        body: [UInt8] = [], is status: Int, except exceptions: [FunctionRunner: Int?] = [:]
    ) {
        self.name = name
        request = HostRequest(method: method, target: target, headers: headers, body: body)
        self.status = status
        self.exceptions = exceptions
    }

    private static let key = ("X-API-Key", Installed.key)
    private static let other = ("X-API-Key", String(repeating: "0b", count: 32))
    private static let asking = "/users-by-token/\(Installed.token)"
    private static let body = Array(Installed.body(Installed.token).utf8)
    private static let large = [UInt8](repeating: 32, count: 70_000)

    static let all = [
        Row("a good one", "POST", "/register", body: body, is: 200),
        Row("a path that ends like it", "GET", "/prod/health", is: 200),
        Row("a query", "GET", "/health?a=%2F", is: 200),
        Row("a proxy", "GET", asking, [key, ("Proxy", "http://127.0.0.1:9")], is: 200),
        Row("a large body", "POST", "/register", body: large, is: 413),
        Row("another method", "PUT", "/health", is: 405),
        Row("nothing there", "GET", "/nothing", is: 404),
        Row(
            "the key twice, good and bad", "GET", asking, [key, other], is: 401,
            except: [.watchdog: 200]),
        Row(
            "the key twice, bad and good", "GET", asking, [other, key], is: 200,
            except: [.watchdog: 401, .lambda: 401]),
        Row(
            "a key beside the key", "GET", asking, [key, ("X_API_Key", "no key")], is: 200,
            except: [.watchdog: 400]),
        Row(
            "an encoded slash", "GET", "/diagnostics/8086%2F8086", is: 400,
            except: [.watchdog: 404]),
        Row(
            "an encoded slash between segments", "GET", "/users-by-token%2F\(Installed.token)",
            is: 404, except: [.watchdog: 200]),
        Row("a slash encoded twice", "GET", "/diagnostics/8086%252F8086", is: 400),
        Row("an encoded NUL", "GET", "/users-by-token/80%00", is: 400, except: [.watchdog: nil]),
        Row("a way up", "GET", "/x/../health", is: 400, except: [.watchdog: nil]),
        Row("two slashes", "GET", "/api-keys//", is: 404, except: [.watchdog: nil]),
        Row("the head alone", "HEAD", "/health", is: 200, except: [.watchdog: nil]),
        Row("a method of our own", "BREW", "/health", is: 405, except: [.watchdog: nil]),
    ]
}
