import JSON
import TestSupport
import Turnstone

/// Tries faults one after another.
func attempt(
    _ row: Row, _ ground: Ground, _ faults: [[JSONObject]], losesAnswers: Bool = true
) throws {
    for fault in faults {
        let trial = try ground.trial()
        for command in fault { try ground.simulator.perform(command) }
        _ = try trial.start("deliver").end()
        let told = fault.map { String(decoding: JSON.text(.object($0)), as: UTF8.self) }
        row.count(
            try trial.verdict(), told.joined(separator: " "), losesAnswers: losesAnswers)
    }
    try row.report()
}
