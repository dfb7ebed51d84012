import Testing
import Turnstone

@testable import Edge

@Suite struct PathTests {
    @Test(
        "a target has decoded segments",
        arguments: [
            ("/", [""]), ("/health", ["health"]), ("/a/b", ["a", "b"]), ("/a/", ["a", ""]),
            ("//a", ["", "a"]), ("/a?b=/c", ["a"]), ("/a#b", ["a"]), ("/a%2Fb", ["a/b"]),
            ("/%C3%A9+%20", ["é+ "]), ("/%61", ["a"]), ("/a%3Fb", ["a?b"]), ("/...", ["..."]),
            ("http://a/b", ["b"]), ("https://a:443/b/c?d", ["b", "c"]),
        ])
    func decoded(target: String, segments: [String]) throws {
        #expect(try path(ofTarget: target) == segments)
    }

    @Test(
        "a target that could be read in two ways is refused",
        arguments: [
            "", "*", "a", "a:443", "http://", "http://a", "?/a", "/.", "/..", "/a/../b", "/%2e",
            "/%2E%2e",
            "/.%2e/a", "/%00", "/a%", "/a%4", "/a%zz", "/%ff", "/%c0%af", "/%ed%a0%80",
        ])
    func refused(target: String) {
        #expect {
            try path(ofTarget: target)
        } throws: {
            ($0 as? Failure)?.disposition == .refused(.malformed)
        }
    }

    @Test(
        "a route matches the end of a path",
        arguments: [
            ("/health", ["health"], []), ("/health", ["v1", "health"], []),
            ("/health", ["health", ""], nil),
            ("/health", ["healthy"], nil), ("/health", [""], nil),
            ("/check/{user_id}", ["check", "1"], ["1"]),
            ("/check/{user_id}", ["x", "check", "a/b"], ["a/b"]),
            ("/check/{user_id}", ["check", ""], nil),
            ("/check/{user_id}", ["check"], nil), ("/check/{user_id}", ["1"], nil),
            ("/check/{user_id}", ["Check", "1"], nil),
            ("/a/{b}/c/{d}", ["a", "1", "c", "2"], ["1", "2"]),
        ] as [(String, [String], [String]?)])
    func route(pattern: String, path: [String], values: [String]?) {
        let pattern = RoutePattern("GET", pattern)
        #expect(pattern.parameters(in: path)?.map(\.value) == values)
    }

    @Test("the routes under /api/ are the ones with success in their errors")
    func api() {
        #expect(RoutePattern("GET", "/api/badge").errorForm == .api)
        #expect(RoutePattern("GET", "/api-keys").errorForm == .plain)
        let failure = Failure.malformed("x")
        #expect(Response(failure, in: .api).body == ["success": false, "error": "x"])
        #expect(Response(failure, in: .plain).body == ["error": "x"])
    }
}
