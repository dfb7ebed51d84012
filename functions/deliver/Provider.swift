import APNs
import Edge
import PushServices
import Store
import Turnstone
import Unix

/// Where pushes go: to Apple's push service, or into files where none is configured.
enum Provider {
    case files(FileProvider)
    case apns(APNsProvider)

    /// - Parameter settings: of APNs; `nil` where pushes become files.
    init(_ settings: APNsSettings?, _ variables: Variables, state: State) throws(Failure) {
        if let settings {
            self = .apns(try APNsProvider(settings, variables, state: state))
        } else {
            self = .files(FileProvider(state: state))
        }
    }

    /// Under which its stops are noted.
    var name: String {
        switch self {
        case .files: "file"
        case .apns: "apns"
        }
    }

    /// Tells its settings from others.
    var settings: String {
        switch self {
        case .files: ""
        case .apns(let provider): provider.settings.fingerprint
        }
    }

    /// Why nothing can be pushed for now.
    var trouble: String? {
        switch self {
        case .files: nil
        case .apns(let provider): provider.trouble?.reason
        }
    }

    /// Whether a push goes where the installation's own troubles are: their end can be seen by its answer.
    func isOwn(_ push: Push) -> Bool {
        switch self {
        case .files: true
        case .apns(let provider): provider.isOwn(push)
        }
    }

    /// Where a push's device is looked for first; `nil` where pushes become files.
    func environment(of push: Push) -> APNsEnvironment? {
        switch self {
        case .files: nil
        case .apns(let provider): push.delivery.environment ?? provider.settings.environment
        }
    }

    /// Hands out pushes and takes in verdicts.
    ///
    /// - Parameters:
    ///   - pause: how long it may wait where there is nothing else to do.
    ///   - beforeSending: called between pushes are handed out and they are sent. Where it throws they are not sent,
    ///     and come back.
    func step(
        pause: Interval, at now: Timestamp, next: () -> Push?,
        beforeSending: () throws(Failure) -> Void, verdict: (Push, Verdict) -> Void
    ) throws(Failure) {
        switch self {
        case .files(let provider):
            try provider.step(
                pause: pause, next: next, beforeSending: beforeSending,
                verdict: verdict)
        case .apns(let provider):
            try provider.step(
                pause: pause, at: now, next: next, beforeSending: beforeSending,
                verdict: verdict)
        }
    }

    /// Hands nothing more out: what is not sent yet comes back.
    func giveBackUnsent() {
        if case .apns(let provider) = self { provider.giveBackUnsent() }
    }

    func close() {
        if case .apns(let provider) = self { provider.close() }
    }
}
