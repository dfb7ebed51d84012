import JSON
import Testing
import Turnstone

@testable import Spool

@Suite struct FlatLineTests {
    @Test(
        "a line is read like any JSON text, plain or not",
        arguments: [
            #"{"n":0,"device":"ab12","proven":true,"badge":7}"#, #"{"a":123456789012345678}"#,
            #"{"a":1234567890123456789}"#, #"{"a":01}"#, #"{"a":0}"#, #"{"a":-1}"#, #"{"a":1.5}"#,
            #"{"a":1e2}"#, #"{"a":"b\"c"}"#, #"{"a":"é"}"#, #"{"a":{"b":[1]}}"#, #"{"a":false}"#,
            #"{"a":tru}"#, #"{"a":true1}"#, #"{"a":1,"a":2}"#, #"{"a":1,}"#, #"{"a":1}}"#, "{}",
            "{",
            "", #"{"a""#, #"{"a":"#, #"{"a":""#, #"{"a":"b"#, "{ \"a\" : 1 }\n", #"["a"]"#, "{,}",
            "{\"a\":\"\u{1}\"}", #"{"a":"b"} {"#, #"{"":""}"#,
        ])
    func read(text: String) {
        let whole = (try? JSON.parse(Array(text.utf8)))?.object
        #expect(members(of: Array(text.utf8)[...]) == whole)
    }
}
