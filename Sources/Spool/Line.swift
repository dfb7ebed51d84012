import JSON
import Turnstone

/// Parses a line as a JSON object; `nil` if it is not one.
func members(of line: ArraySlice<UInt8>) -> JSONObject? {
    do throws(JSONError) {
        return try JSON.parse(Array(line), depthLimit: JSON.storedDepthLimit).object
    } catch { return nil }
}
