import Turnstone
import Unix

extension Spool {
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
    /// What was accepted is safe already, and a request that failed for this would be repeated, and accepted
    /// twice: a start that fails is only reported, and the next drainer delivers. The new process outlives
    /// this one and keeps none of its streams, since a host waits for them to close; its log goes to
    /// `deliver.log` in the state folder.
    ///
    /// - Returns: the process, or `nil` where none was started.
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

    /// Whether the log can be written: without one, a drainer delivers all the same.
    private func isLogUsable() throws(SystemError) -> Bool {
        do throws(SystemError) { try shorten(log) } catch {
            guard error.errno.isFileSpecific else { throw error }
            UnusableFiles.record(log, error.errno.name)
            return false
        }
        return true
    }

    private var log: String { "\(Files.parent(of: folder))/deliver.log" }

    /// Begins the log anew when it has become long, if it is this process that writes it: a drainer may go on
    /// for months.
    package func keepLogShort() throws(Failure) {
        guard StandardStreams.errorsGo(to: log) else { return }
        try systemCalls { () throws(SystemError) in
            try shorten(log)
            try StandardStreams.sendErrors(to: log)
        }
    }

    /// Keeps the log to two files of a megabyte.
    private func shorten(_ log: String) throws(SystemError) {
        let size = try FileDescriptor.open(log, .append).size()
        if size > 1 << 20 { try Files.rename(log, "\(log).1") }
    }
}

/// Whether a host has set the variable to pass a request (RFC 3875 section 4.1): the drainer would take
/// itself for the one who is asked.
private func isRequestVariable(_ name: String) -> Bool {
    let prefixes = [
        "HTTP_", "Http_", "REQUEST_", "REMOTE_", "SCRIPT_", "SERVER_", "PATH_", "CONTENT_",
    ]
    return ["GATEWAY_INTERFACE", "QUERY_STRING", "AUTH_TYPE", "DOCUMENT_ROOT"].contains(name)
        || prefixes.contains { name.utf8.starts(with: $0.utf8) }
}
