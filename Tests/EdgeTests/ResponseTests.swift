import Testing
import Turnstone

@testable import Edge

@Suite struct ResponseTests {
    @Test(
        "a refusal has a status with a name",
        arguments: [
            (.malformed, 400), (.unauthenticated, 401), (.forbidden, 403), (.notFound, 404),
            (.methodNotAllowed(allowed: "GET"), 405), (.tooSlow, 408), (.conflict, 409),
            (.changedMeanwhile, 412), (.tooLarge, 413), (.unsupportedMediaType, 415),
            (.unacceptable, 422), (.tooMany(seconds: 7), 429), (.headersTooLarge, 431),
        ] as [(Refusal, Int)])
    func refusal(refusal: Refusal, status: Int) {
        let response = Response(.refused(refusal, "a sentence"), in: .plain)
        #expect(response.status == status)
        #expect(response.reason != "Unknown")
        #expect(response.body == ["error": "a sentence"])
    }

    @Test("faults that the caller cannot correct are not shown to it")
    func secrecy() {
        let later = Response(
            Failure(.later(seconds: 7), "unable to lock /x", cause: "busy"), in: .plain)
        #expect(later.status == 503)
        #expect(later.headers.map(\.name) == ["Retry-After"] && later.headers.map(\.value) == ["7"])
        #expect(later.body == ["error": "temporarily unavailable"])
        let broken = Response(
            Failure(.broken, "unable to read /x", cause: "corrupt"), in: .plain)
        #expect(broken.status == 500)
        #expect(broken.body == ["error": "stored data cannot be used; see the server's log"])
    }

    @Test("another server's unusable answer is neither the caller's fault nor ours")
    func badUpstream() {
        let response = Response(
            Failure(.badUpstream, "unable to read it", cause: "unusable"), in: .api)
        #expect(response.status == 502 && response.reason == "Bad Gateway")
    }

    @Test(
        "OneSignal's clients get a list, and fewer statuses",
        arguments: [
            (Failure.malformed("a"), 400, "a"), (.unacceptable("b"), 400, "b"),
            (.refused(.notFound, "c"), 404, "c"), (.refused(.conflict, "d"), 409, "d"),
            (.misconfigured("e"), 503, "the server is misconfigured; see its log"),
            (
                Failure(.later(seconds: 7), "f", cause: "busy"), 503,
                "Service temporarily unavailable"
            ),
        ])
    func oneSignal(failure: Failure, status: Int, sentence: String) {
        let response = Response(failure, in: .oneSignal)
        #expect(response.status == status)
        #expect(response.body == ["errors": [.string(sentence)]])
    }

    @Test func oneSignalsClientsAreForbidden() {
        for refusal in [Refusal.unauthenticated, .unidentified(by: "Key")] {
            let response = Response(.refused(refusal, "a"), in: .oneSignal)
            #expect(response.status == 403 && response.headers.isEmpty)
            let sentence = response.body.object?["errors"]?.array?.first?.string ?? ""
            #expect(sentence.hasPrefix("Access denied.  Please include an 'Authorization: ...'"))
        }
    }

    @Test("a refusal says what would do")
    func headers() {
        let method = Response(.refused(.methodNotAllowed(allowed: "GET, HEAD"), ""), in: .plain)
        #expect(method.allHeaders.contains { $0 == ("Allow", "GET, HEAD") })
        let caller = Response(.refused(.unauthenticated, ""), in: .plain)
        #expect(caller.allHeaders.contains { $0.name == "WWW-Authenticate" })
    }
}
