import Foundation
import TestSupport
import Testing

/// What `infra/nginx` promises beside its routes.
@Suite(.testable(.nginx)) struct NginxTests {
    @Test func guessesAtTheMasterKeyAreLimitedAndNothingElseIs() throws {
        let site = try Site(.nginx)
        try Installed.player(at: site)
        let guess = HostRequest(
            method: "POST", target: "/generate-api-key",
            body: Array(#"{"user_id":"1","master_key":"guess"}"#.utf8))
        // Ten a minute and ten at once: of thirty in a moment most are too many.
        let answers = try (0..<30).map { _ in try site.answer(guess, from: "generate-api-key") }
        #expect(answers.prefix(10).allSatisfy { $0.status == 401 })
        let refused = answers.filter { $0.status == 429 }
        #expect(refused.count >= 10)
        #expect(refused.allSatisfy { $0.headers["retry-after"] != nil && $0.json != nil })
        for _ in 0..<30 {
            #expect(try site.answer(HostRequest(target: "/health"), from: "health").status == 200)
        }
    }

    @Test func withoutFcgiwrapItIsA503ToComeBackTo() throws {
        let site = try Site(.nginx, replacing: ["fcgi.sock": "none.sock"])
        let answer = try site.answer(HostRequest(target: "/health"), from: "health")
        #expect(answer.status == 503)
        #expect(answer.headers["retry-after"] != nil)
        #expect(answer.json?.object?["error"] != nil)
    }
}
