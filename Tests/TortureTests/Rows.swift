import Foundation
import JSON
import Turnstone
import Unix

/// The file in which `infra/torture` collects rows of its tables: one JSON object a line.
enum Rows {
    /// Adds a row to the file named by `TURNSTONE_TORTURE_ROWS`, if there is one.
    static func add(_ row: JSONObject) throws {
        guard let path = ProcessInfo.processInfo.environment["TURNSTONE_TORTURE_ROWS"] else {
            return
        }
        let line = JSON.text(.object(row)) + [UInt8(ascii: "\n")]
        // Tests run at the same time: one write to the file's end each.
        try FileDescriptor.open(path, .append).write(line)
    }

    /// The name by which `infra/torture` runs a test again.
    ///
    /// - Parameter function: the test's `#function`.
    static func test(_ function: String) -> String { String(function.prefix { $0 != "(" }) }
}
