import JSON
import Turnstone

/// The JSON door: what it reads it can write, and reads again as the same.
@Sendable func json(_ bytes: [UInt8]) -> String? {
    guard let value = try? JSON.parse(bytes) else { return nil }
    let text = JSON.text(value)
    guard let again = try? JSON.parse(text) else { return "what was written is refused" }
    guard again == value else { return "what was written reads as another value" }
    return JSON.text(again) == text ? nil : "the same value is written in two ways"
}
