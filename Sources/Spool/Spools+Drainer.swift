import Turnstone
import Unix

extension Spools {
    /// Whether a program that accepts a notification starts `deliver`, or leaves that to a timer or a path
    /// unit: `TURNSTONE_DELIVER`.
    package static func startsDrainers(_ variables: Variables) throws(Failure) -> Bool {
        switch variables.text("TURNSTONE_DELIVER") {
        case nil, "spawn": return true
        case "external": return false
        default: throw variables.wrong("TURNSTONE_DELIVER", "must be spawn or external")
        }
    }

    /// Starts the program `deliver` from the folder of the running program, if the configuration says so.
    ///
    /// A failed start is only reported. The notification is accepted already, and the next drainer delivers
    /// it. If the request failed instead, it would be repeated and accepted twice.
    ///
    /// The new process outlives this one and keeps none of its streams, because a host waits for them to
    /// close. Its log goes to `deliver.log` in the state folder.
    ///
    /// - Returns: the process, or `nil` if none was started.
    @discardableResult
    package func startDrainer(
        _ variables: Variables, output: ChildProcess.Stream = .null, report: (Failure) -> Void
    ) -> ChildProcess? {
        do throws(Failure) { return try start(variables, output) } catch {
            report(error)
            return nil
        }
    }

    private func start(
        _ variables: Variables, _ output: ChildProcess.Stream
    ) throws(Failure) -> ChildProcess? {
        guard try Self.startsDrainers(variables) else { return nil }
        guard let executable = ThisProcess.executable else { return nil }
        let deliver = "\(Files.parent(of: executable))/deliver"
        return try systemCalls(
            ChildProcess.start(
                deliver,
                environment: ThisProcess.environment.filter { !isRequestVariable($0.name) },
                output: output, errors: isLogUsable() ? .file(log) : .null))
    }

    /// Whether the log can be written. A drainer without a log delivers all the same.
    private func isLogUsable() throws(SystemError) -> Bool {
        do throws(SystemError) { try shorten(log) } catch {
            guard error.errno.isFileSpecific else { throw error }
            UnusableFiles.record(log, error.errno.name)
            return false
        }
        return true
    }

    private var log: String { "\(state)/deliver.log" }

    /// Starts a new log file when the log has become long, if this process writes it: a drainer may run for
    /// months. If another drainer has started one, this process goes on in that.
    @export(interface)
    package func keepLogShort() throws(Failure) {
        guard StandardStreams.errorsGo(to: log) || StandardStreams.errorsGo(to: "\(log).1") else {
            return
        }
        try systemCalls { () throws(SystemError) in
            try shorten(log)
            try StandardStreams.sendErrors(to: log)
        }
    }

    /// Renames a log of more than a megabyte to `deliver.log.1`, so that two such files are kept.
    private func shorten(_ log: String) throws(SystemError) {
        let size = try FileDescriptor.open(log, .append).size()
        if size > 1 << 20 { try Files.rename(log, "\(log).1") }
    }
}

/// Whether the variable may be part of a request that a host passes on (RFC 3875 section 4.1). With it, the
/// drainer would take itself for the program that must answer.
private func isRequestVariable(_ name: String) -> Bool {
    let prefixes = [
        "HTTP_", "Http_", "REQUEST_", "REMOTE_", "SCRIPT_", "SERVER_", "PATH_", "CONTENT_",
    ]
    return ["GATEWAY_INTERFACE", "QUERY_STRING", "AUTH_TYPE", "DOCUMENT_ROOT"].contains(name)
        || prefixes.contains { name.utf8.starts(with: $0.utf8) }
}
