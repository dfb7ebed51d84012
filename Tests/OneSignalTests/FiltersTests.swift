import Audiences
import JSON
import Testing
import Turnstone

@testable import OneSignal

@Suite struct FiltersTests {
    private func json(_ text: String) throws -> JSONValue { try JSON.parse(Array(text.utf8)) }

    @Test(
        "a condition becomes ours",
        arguments: [
            (
                #"{"field":"tag","key":"role","relation":"=","value":"admin"}"#,
                #"{"field":"tag","key":"role","relation":"=","value":"admin"}"#
            ),
            (
                #"{"field":"last_session","relation":">","hours_ago":"1.1"}"#,
                #"{"field":"last_session","relation":">","value":1.1}"#
            ),
            (
                #"{"field":"session_count","relation":"<","value":"10"}"#,
                #"{"field":"session_count","relation":"<","value":10}"#
            ),
            (
                #"{"field":"tag","key":"team","relation":"in_array","value":"a,b"}"#,
                #"{"field":"tag","key":"team","relation":"in","value":["a","b"]}"#
            ),
            (
                #"{"field":"tag","key":"a","relation":"exists","value":""}"#,
                #"{"field":"tag","key":"a","relation":"exists"}"#
            ),
            (#"{"operator":"OR","field":null}"#, #"{"operator":"OR"}"#),
        ])
    func translated(theirs: String, ours: String) throws {
        let result = try Filters.translated(.array([json(theirs)]))
        #expect(try members(result) == members(.array([json(ours)])))
    }

    /// The members of the first element, whatever their order.
    private func members(_ json: JSONValue) throws -> [String: JSONValue] {
        let object = try #require(json.array?.first?.object)
        return Dictionary(uniqueKeysWithValues: object.members.map { ($0.name, $0.value) })
    }

    @Test(
        "what cannot be compared is refused",
        arguments: [
            #"{"field":"location","radius":1000,"lat":1.5,"long":2.5}"#,
            #"{"field":"tag","key":"a","relation":"time_elapsed_gt","value":"1"}"#,
            #"{"field":"tag","key":"a","relation":"not_in_array","value":"1"}"#,
            #"{"field":"tag","key":"a","relation":"=","value":"1","radius":1}"#,
            #"{"field":"tag","operator":"OR"}"#, #"{"relation":"="}"#, "1",
        ])
    func refused(text: String) throws {
        let list = JSONValue.array([try json(text)])
        #expect(throws: Failure.self) { try Filters.translated(list) }
    }

    @Test func aSegmentsFilterIsShownAsItWasGiven() throws {
        let given = try json(
            #"""
            [{"field":"tag","key":"role","relation":"=","value":"admin"},{"operator":"OR"},
             {"field":"last_session","relation":"<","hours_ago":"24"},
             {"field":"tag","key":"team","relation":"in_array","value":"a,b"}]
            """#)
        let ours = try Filters.translated(given)
        _ = try Filter(ours)
        let shown = try #require(Filters.shown(ours).array)
        for (left, right) in zip(shown, given.array ?? []) {
            #expect(try members(.array([left])) == members(.array([right])))
        }
        #expect(shown.count == 4)
    }

    @Test func theOlderTagsAreConditions() throws {
        let ours = try Filters.translated(
            tags: json(
                #"[{"key":"a","relation":"=","value":"1"},{"operator":"OR"},{"key":"b","relation":"exists"}]"#
            ))
        _ = try Filter(ours)
        #expect(ours.array?.count == 3)
    }
}
