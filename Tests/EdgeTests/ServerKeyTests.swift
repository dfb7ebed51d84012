import Testing
import Turnstone

@testable import Edge

@Suite struct ServerKeyTests {
    private func request(_ headers: [(String, String)], keys: String?) -> Request {
        var fields = Headers()
        for (name, value) in headers { fields.append(name, value) }
        var variables = Variables()
        if let keys { variables.offer("TURNSTONE_SERVER_KEY", keys) }
        return Request(
            method: "POST", parameters: [], headers: fields, body: .bytes([]),
            time: Timestamp(milliseconds: 0), variables: variables)
    }

    /// The tables below say `one` and `two` for keys that are long enough.
    private func long(_ text: String) -> String {
        text.replacing("one", with: "one-key-of-thirty-two-letters-xxxx")
            .replacing("two", with: "two-key-of-thirty-two-letters-xxxx")
    }

    private func disposition(_ headers: [(String, String)], keys: String?) -> Disposition? {
        do {
            let headers = headers.map { ($0.0, long($0.1)) }
            try request(headers, keys: keys.map(long)).requireServerKey()
            return nil
        } catch { return error.disposition }
    }

    private static let denied = Disposition.refused(
        .unidentified(by: "Key realm=\"turnstone\""))

    @Test(
        "the app's own backend passes with one of its keys",
        arguments: [
            ("Key one", "one"), ("key one", "one"), ("KEY  one ", "one"), ("Key one", "two,one"),
            ("Key one", " one , two "), ("Key two", "one,,two"),
        ])
    func passes(header: String, keys: String) {
        #expect(disposition([("Authorization", header)], keys: keys) == nil)
    }

    @Test(
        "nobody else passes",
        arguments: [
            ("Key One", "one"), ("Key", "one"), ("Key ", "one"), ("Bearer one", "one"),
            ("one", "one"), ("Key one,two", "one,two"), ("Keyone", "one"), ("", "one"),
            ("Key one two", "one"),
        ])
    func refused(header: String, keys: String) {
        #expect(disposition([("Authorization", header)], keys: keys) == Self.denied)
    }

    @Test(
        "OneSignal's clients send it in three forms",
        arguments: [
            ("Key one", true), ("Basic one", true), ("basic one", true), ("one", true),
            ("one ", true), ("Bearer one", false), ("Key two", false), ("Basic", false),
            ("", false),
            ("two", false), ("Basic Key one", false),
        ])
    func forms(header: String, passes: Bool) throws {
        let request = request([("Authorization", long(header))], keys: long("one"))
        if passes {
            try request.requireServerKeyInAnyForm()
        } else {
            #expect(throws: Failure.self) { try request.requireServerKeyInAnyForm() }
        }
    }

    @Test("without the header nobody passes, and with two of them neither counts")
    func headers() {
        #expect(disposition([("X-API-Key", "one")], keys: "one") == Self.denied)
        let twice = [("Authorization", "Key one"), ("authorization", "Key one")]
        #expect(disposition(twice, keys: "one") == .refused(.malformed))
    }

    @Test(
        "a guessable key lets nobody pass, and the error says so",
        arguments: [
            "short", "31-letters-are-too-few-for-keys",
            "32-letters-are-enough-for-a-key-,short",
        ])
    func short(keys: String) {
        #expect(keys.split(separator: ",").contains { $0.utf8.count < 32 })
        for key in keys.split(separator: ",") {
            #expect(disposition([("Authorization", "Key \(key)")], keys: keys) == .misconfigured)
        }
    }

    @Test("if no key is set, nobody passes", arguments: [nil, "", " ", ",", " , "])
    func unset(keys: String?) {
        for header in ["Key ", "Key ,", "Key"] {
            #expect(disposition([("Authorization", header)], keys: keys) == .misconfigured)
        }
    }

    @Test("a caller says which kind it is", arguments: [("Key x", true), ("Bearer x", false)])
    func named(header: String, isServer: Bool) throws {
        let request = request([("Authorization", header)], keys: "one")
        #expect(try request.usesServerKeyScheme() == isServer)
    }
}
