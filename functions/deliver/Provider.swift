import APNs
import Edge
import Store
import Turnstone
import Unix

/// Where pushes go: to Apple's push service, or into files where none is configured.
enum Provider {
    case files(FileProvider)
    case apns(APNsProvider)

    init(_ variables: Variables, state: State) throws(Failure) {
        if let settings = try APNsSettings(variables) {
            self = .apns(try APNsProvider(settings, variables, state: state))
        } else {
            self = .files(FileProvider(state: state))
        }
    }

    /// Hands out pushes and takes in verdicts, waiting up to 20 ms where there is nothing else to do.
    func step(
        next: () -> Push?, verdict: (Push, Verdict) throws(Failure) -> Void
    ) throws(Failure) {
        switch self {
        case .files(let provider): try provider.step(next: next, verdict: verdict)
        case .apns(let provider): try provider.step(next: next, verdict: verdict)
        }
    }

    /// Hands nothing more out: what is not sent yet comes back without a verdict.
    func giveBackUnsent() {
        if case .apns(let provider) = self { provider.giveBackUnsent() }
    }

    func close() {
        if case .apns(let provider) = self { provider.close() }
    }
}
