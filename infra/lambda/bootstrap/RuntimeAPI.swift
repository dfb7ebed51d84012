import JSON
import Turnstone
import Unix

/// AWS Lambda's Runtime API, version 2018-06-01.
struct RuntimeAPI {
    private let server: LocalServer

    /// - Parameter environment: names the server by its address and port.
    init(_ environment: [(name: String, value: String)]) throws(Failure) {
        guard let name = environment.first(where: { $0.name == "AWS_LAMBDA_RUNTIME_API" })?.value
        else { throw .misconfigured("AWS_LAMBDA_RUNTIME_API is not set: this is no Lambda") }
        guard let server = LocalServer(name) else {
            throw .misconfigured("AWS_LAMBDA_RUNTIME_API must be an address such as 127.0.0.1:9001")
        }
        self.server = server
    }

    /// Does what must be done before the first event, or says why it cannot be done.
    func initialize<Result>(
        _ work: () throws(Failure) -> Result
    ) throws(Failure) -> Result {
        do throws(Failure) { return try work() } catch {
            let problem = HandlerError(type: "Turnstone.Configuration", message: error.sentence)
            try post(problem, to: "init/error")
            throw error
        }
    }

    /// Waits for the next event.
    func next() throws(Failure) -> Invocation {
        try Invocation(server.ask("GET", "\(root)/invocation/next"))
    }

    func answer(_ invocation: Invocation, with bytes: [UInt8]) throws(Failure) {
        try check(server.ask("POST", "\(root)/invocation/\(invocation.id)/response", body: bytes))
    }

    func report(_ error: HandlerError, of invocation: Invocation) throws(Failure) {
        try post(error, to: "invocation/\(invocation.id)/error")
    }

    private func post(_ error: HandlerError, to path: String) throws(Failure) {
        let body: JSONValue = [
            "errorType": .string(error.type), "errorMessage": .string(error.message),
            "stackTrace": [],
        ]
        try check(
            server.ask(
                "POST", "\(root)/\(path)",
                headers: [("Lambda-Runtime-Function-Error-Type", error.type)],
                body: JSON.text(body)))
    }

    /// If the platform refuses an answer, for example because it has given up the event, the next event may
    /// be requested. After a 5xx this process must end.
    private func check(_ answer: HTTPAnswer) throws(Failure) {
        guard (200..<500).contains(answer.status) else {
            throw .runtime("it answers \(answer.status)")
        }
    }

    private let root = "/2018-06-01/runtime"
}

extension Failure {
    /// The Runtime API does not do what it promises.
    static func runtime(_ sentence: String) -> Failure {
        Failure(.broken, "unable to use the Runtime API: \(sentence)", cause: "runtime")
    }
}
