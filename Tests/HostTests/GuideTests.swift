import Foundation
import JSON
import TestSupport
import Testing
import Turnstone

/// The examples of `infra/guide`, as they stand there, against nginx and the programs.
///
/// Not run: those in Swift, Kotlin and JavaScript.
@Suite(.testable(.nginx)) struct GuideTests {
    @Test("the examples send a message", arguments: ["sh", "python"])
    func examples(language: String) throws {
        let guide = try String(
            contentsOfFile: "\(Route.repository)/infra/guide/README.md", encoding: .utf8)
        var examples = blocks(of: guide, in: language)
        try #require(examples.count >= 4)
        let simulator = try Simulator()
        let site = try Site(.nginx)
        let secret = "a secret of 32 bytes for examples"
        let serverKey = "a server key of 32 bytes for examples"
        let stand = simulator.environment.map { "\($0.key)=\($0.value)" }.joined(separator: "\n")
        try site.configure(
            "\(stand)\nJWT_SECRET='\(secret)'\nTURNSTONE_SERVER_KEY='\(serverKey)'\n"
                + "DELIVER_LINGER_SECONDS=0")
        let variables = [
            "PATH": "/usr/bin:/bin", "JWT_SECRET": secret, "TURNSTONE_SERVER_KEY": serverKey,
            "TURNSTONE_URL": try site.address(of: "notify").absoluteString,
        ]
        // The last example in Python signs out, after which a message that is on its way is not sent.
        let arrived = "\(site.folder.path)/arrived"
        if language == "python" {
            let wait = "import time\nwhile not os.path.exists('\(arrived)'): time.sleep(0.05)\n"
            examples.insert(wait, at: examples.count - 1)
        }
        try site.folder.write(examples.joined(separator: "\n"), to: "example")
        let run = try Programs.start(
            at: language == "sh" ? "/bin/bash" : "/usr/bin/python3",
            (language == "sh" ? ["-eu"] : []) + ["\(site.folder.path)/example"],
            entries: variables.map { "\($0.key)=\($0.value)" })
        let isThere = try simulator.waitForPushes(1, milliseconds: 60_000)
        try site.folder.write("", to: "arrived")
        let ended = try run.end()
        #expect(ended.exitCode == 0, "\(ended.stdout) \(ended.stderr)")
        #expect(isThere)
        let pushes = try simulator.pushes()
        #expect(pushes.count == 1)
        let payload = pushes.first?["payload"]?.object
        #expect(payload?["aps"]?.object?["alert"]?.object?["title"] == "Your order")
        #expect(payload?["orderId"] != nil)
    }

    private func blocks(of text: String, in language: String) -> [String] {
        var blocks: [String] = []
        var isInside = false
        for line in text.split(separator: "\n", omittingEmptySubsequences: false) {
            if line == "```\(language)" {
                isInside = true
                blocks.append("")
            } else if line.hasPrefix("```") {
                isInside = false
            } else if isInside {
                blocks[blocks.count - 1] += line + "\n"
            }
        }
        return blocks
    }
}
