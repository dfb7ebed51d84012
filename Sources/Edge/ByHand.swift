import Turnstone
import Unix

/// Whether an event was written by hand at a shell of this machine.
///
/// It must have exactly the short form, come through a pipe, a file or a terminal, and no variable in the
/// environment may name a host that passes on other people's input: function runners pass events too, and
/// clients of an inetd can send one.
func isByHand(_ event: JSONObject) -> Bool {
    let known = ["method", "path", "query", "headers", "body"]
    guard event.members.allSatisfy({ known.contains($0.name) }), !StandardStreams.inputIsSocket
    else { return false }
    return !ThisProcess.environment.contains { entry in
        // `front` has passed the request on, so it may come from anybody.
        entry.name == deadlineVariable || hosts.contains { entry.name.utf8.starts(with: $0.utf8) }
    }
}

/// Prefixes of variables that hosts set: CGI servers, inetds, Lambda, OpenWhisk, OpenFaaS, Azure and Google's
/// functions, Knative.
private let hosts = [
    "GATEWAY_", "SERVER_", "REQUEST_", "REMOTE_", "TCP", "SOCAT_", "NCAT_", "LISTEN_", "Http_",
    "AWS_LAMBDA_", "AWS_EXECUTION_", "LAMBDA_", "_HANDLER", "__OW_", "OPENFAAS_", "fprocess",
    "FUNCTION",
    "FAAS_", "K_SERVICE", "KUBERNETES_", "CE_",
]
