import JSON
import Testing
import Turnstone

/// An object from its text: rows of a table are texts, which the compiler reads faster than values.
func object(_ text: String) throws -> JSONObject {
    try #require(try JSON.parse(Array(text.utf8)).object)
}
