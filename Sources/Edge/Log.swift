import JSON
import Turnstone
import Unix

/// The log on standard error, one line per event: text, or JSON if `TURNSTONE_LOG` is `json`. Never log a
/// key, a whole device token or a body.
package struct Log {
    private let program = ThisProcess.name
    private let isJSON: Bool

    package init() {
        isJSON = ThisProcess.environment.contains {
            $0.name == "TURNSTONE_LOG" && $0.value == "json"
        }
    }

    /// - Parameters:
    ///   - event: a sentence without the program's name, such as "queued a notice".
    ///   - fields: ids and counts that belong to it.
    @export(interface)
    package func event(_ event: String, _ fields: JSONObject = [:]) {
        write(event, level: "info", fields)
    }

    /// Logs the device that a request has registered.
    @export(interface)
    package func registered(_ token: DeviceToken, of user: UserID) {
        event("registered", ["user": .string(user.text), "device": .string("\(token)")])
    }

    /// Warns of users' time zones that the system's database does not have any more: their quiet hours are
    /// ignored.
    @export(interface)
    package func unknownTimeZones() {
        for zone in WallClock.unknown {
            warning(
                "the system does not know the time zone \(zone): quiet hours in it are ignored. "
                    + "Install tzdata, and tzdata-legacy for old names"
            )
        }
    }

    package func warning(_ sentence: String) { write(sentence, level: "warning", [:]) }

    /// Logs a failure and, where one file is at fault, records that file for `health`.
    @export(interface)
    package func failure(_ failure: Failure) {
        if let file = failure.file { UnusableFiles.record(file, failure.cause) }
        var level = "error"
        if case .refused = failure.disposition { level = "info" }
        write(failure.sentence, level: level, ["cause": .string(failure.cause)])
    }

    private func write(_ event: String, level: String, _ fields: JSONObject) {
        guard isJSON else {
            var line = "\(program): \(event)"
            for field in fields.members where field.name != "cause" {
                line += " \(field.name)=\(String(decoding: JSON.text(field.value), as: UTF8.self))"
            }
            return StandardStreams.writeErrors(withoutControls(line) + "\n")
        }
        var line: JSONObject = [
            "time": .string(CalendarDate(.systemNow).text), "level": .string(level),
            "program": .string(program), "event": .string(event),
        ]
        for field in fields.members { line[field.name] = field.value }
        let text = String(decoding: JSON.text(.object(line)), as: UTF8.self)
        StandardStreams.writeErrors(withoutControls(text) + "\n")
    }
}
