import Turnstone
import Unix

/// Why an event got no answer, as Lambda counts and shows it.
struct HandlerError {
    let type: String
    /// Never from the event or the program's output.
    let message: String
}

/// The program that answers the function's events.
struct Handler {
    private let name: String
    private let path: String
    private let environment: [(name: String, value: String)]

    enum Outcome {
        case answer([UInt8])
        case error(HandlerError)
    }

    /// - Parameter environment: names the program, and goes to it, but for one variable.
    init(_ environment: [(name: String, value: String)]) throws(Failure) {
        name = environment.first { $0.name == "_HANDLER" }?.value ?? ""
        path = "\(Files.parent(of: ThisProcess.executable ?? "."))/\(name)"
        guard !name.isEmpty, !name.utf8.contains(UInt8(ascii: "/")), Files.isExecutable(path) else {
            throw .misconfigured("the function's handler must name a program of the package")
        }
        // A drainer that goes on after the answer would be frozen with the machine, and hold its lock.
        self.environment =
            environment.filter { $0.name != "TURNSTONE_DELIVER" }
            + [("TURNSTONE_DELIVER", "external")]
    }

    /// Runs the program with an event, and ends it before the platform would end us.
    func run(_ invocation: Invocation) -> Outcome {
        let left = invocation.left
        do throws(SystemError) {
            let output = try FileDescriptor.inMemory()
            let program = try ChildProcess.start(
                path, environment: environment,
                input: .open(try .inMemory(holding: invocation.event)), output: .open(output),
                errors: .inherited)
            // A quarter of a short time, three seconds of a long one: to end, and to say so.
            if let code = program.end(within: .milliseconds(left - min(3000, left / 4))) {
                return try outcome(code, output)
            }
            let code = end(program, within: .milliseconds(min(2500, left / 8)))
            return code == 0
                ? try outcome(0, output)
                : failed("TimedOut", "\(name) was ended: the function's time was over")
        } catch {
            return failed("Start", "unable to \(error.call) \(name): \(error.reason)")
        }
    }

    /// Ends a program that is too slow. What it has committed stays.
    ///
    /// - Returns: 0 where it has come to an end of its own, as `deliver` does when it is asked to.
    private func end(_ program: ChildProcess, within patience: Interval) -> Int32? {
        program.end(by: .terminate)
        let code = program.end(within: patience)
        program.end(by: .kill)
        if code == nil { program.wait() }
        return code
    }

    private func outcome(
        _ code: Int32, _ output: FileDescriptor
    ) throws(SystemError) -> Outcome {
        if code < 0 { return failed("Crashed", "\(name) was ended by the signal \(-code)") }
        switch code {
        case 0: break
        case 111: return failed("Later", "\(name) may work later")
        default: return failed("Failed", "\(name) ended with \(code): its log says why")
        }
        guard try output.size() <= answerLimit else {
            return failed("TooLarge", "\(name) answers more than Lambda takes")
        }
        let answer = lastLine(try output.read(upTo: answerLimit, at: 0))
        return answer.isEmpty ? failed("NoAnswer", "\(name) answers nothing") : .answer(answer)
    }

    /// The answer. What a program prints before that is for whoever reads the log.
    private func lastLine(_ output: [UInt8]) -> [UInt8] {
        let end = UInt8(ascii: "\n")
        let lines = output.last == end ? output.dropLast() : output[...]
        guard let place = lines.lastIndex(of: end) else { return Array(lines) }
        StandardStreams.writeErrors(String(decoding: lines[...place], as: UTF8.self))
        return Array(lines[(place + 1)...])
    }

    private func failed(_ type: String, _ message: String) -> Outcome {
        .error(HandlerError(type: "Turnstone.\(type)", message: message))
    }
}

/// Lambda's own limit, in bytes.
private let answerLimit = 6 << 20
