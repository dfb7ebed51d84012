import Turnstone
import Unix

/// This process's configuration.
package enum Environment {
    /// The environment's variables, and those of the configuration file that the environment does not set.
    @export(interface)
    package static func variables() throws(Failure) -> Variables {
        var variables = Variables()
        // HTTP_… and Http_… are a request's header fields, which must not configure anything.
        for (name, value) in ThisProcess.environment
        where !name.utf8.starts(with: "HTTP_".utf8) && !name.utf8.starts(with: "Http_".utf8) {
            variables.offer(name, value)
        }
        let variable = "TURNSTONE_CONFIG"
        let named = try variables.path(variable)
        let path = named ?? "/etc/turnstone/turnstone.env"
        variables.file = path
        let bytes: [UInt8]?
        do throws(SystemError) { bytes = try Files.contents(ofOperatorFile: path) } catch {
            if let named { try variables.checkIsNoKey(named, in: variable, after: error) }
            throw .misconfigured("unable to read \(path) (\(variable)): \(error.reasonForFile)")
        }
        if let bytes {
            variables.offer(environmentFile: String(decoding: bytes, as: UTF8.self))
            if let sentence = variables.malformedLine { Log().warning(sentence) }
        } else if let named {
            try variables.checkIsNoKey(named, in: variable)
            throw .misconfigured("unable to read \(path) (\(variable)): it does not exist")
        }
        for sentence in variables.misspellings { Log().warning(sentence) }
        do throws(Failure) { try variables.checkLogFormat() } catch {
            Log().warning(error.sentence)
        }
        return variables
    }

    /// Whether `TURNSTONE_NOW` stops the clock.
    package static func isClockFrozen(_ variables: Variables) -> Bool {
        variables.text("TURNSTONE_NOW") != nil
    }

    /// The current time: `TURNSTONE_NOW` (milliseconds since 1970), or else the system's clock.
    @export(interface)
    package static func now(_ variables: Variables) throws(Failure) -> Timestamp {
        guard let text = variables.text("TURNSTONE_NOW") else { return .systemNow }
        guard let milliseconds = Int64(text),
            (0...Timestamp.latest.milliseconds).contains(milliseconds)
        else {
            throw variables.wrong(
                "TURNSTONE_NOW", "must be milliseconds since 1970, before the year 10000")
        }
        return Timestamp(milliseconds: milliseconds)
    }

    /// The wall clock, for programs that run for long; a test may have stopped it.
    package static func clock(_ variables: Variables) throws(Failure) -> () -> Timestamp {
        guard isClockFrozen(variables) else { return { .systemNow } }
        let now = try now(variables)
        return { now }
    }
}
