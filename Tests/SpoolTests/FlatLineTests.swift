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

    @Test(
        "a device's line means the same in the form that the spool writes and in any other",
        arguments: [
            "", #","user":"ann""#, #","service":"fcm""#, #","service":"carrier pigeon""#,
            #","environment":"production","user":"ann","device_id":"d1","badge":7,"stamp":12,"proven":true"#,
            #","environment":"moon""#, #","user":"\u0061nn""#, #","user":"é""#, #","user":".""#,
            #","user":7"#, #","user":"ann","user":"bob""#, #","proven":true,"badge":7"#,
            #","badge":-7"#, #","badge":-0"#, #","badge":07"#, #","badge":7.0"#, #","badge":7e1"#,
            #","badge":1234567890123456789"#, #","stamp":-123456789012345678"#, #","proven":false"#,
            #","also":true"#, #","later_failures":2"#, #","in_doubt":true"#, #","unknown":[1]"#,
            #","badge":"#, #",""#, #","proven":true1"#, " ",
        ])
    func device(rest: String) {
        for number in ["3", "-1", "03", "3.0", "1e3", "9999999999999"] {
            for token in ["ab12", "AB12", "ab1", "", "xy"] {
                for end in ["}", "} ", "", "}}"] {
                    let text = #"{"n":\#(number),"device":"\#(token)"\#(rest)\#(end)"#
                    let line = Array(text.utf8)[...]
                    let whole = members(of: line).flatMap(Delivery.init)
                    #expect(readDelivery(line) == whole, "\(text)")
                }
            }
        }
    }
}
