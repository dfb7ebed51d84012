import APNs
import Edge
import PushServices
import Store
import Turnstone
import Unix

/// Where pushes go: to Apple's push service, or to files if none is configured.
enum Provider {
    case files(FileProvider)
    case apns(APNsProvider)

    /// - Parameter settings: the settings of APNs; `nil` to write pushes to files.
    init(_ settings: APNsSettings?, _ variables: Variables, state: State) throws(Failure) {
        if let settings {
            self = .apns(try APNsProvider(settings, variables, state: state))
        } else {
            self = .files(FileProvider(state: state))
        }
    }

    /// The name under which its stops are recorded.
    var name: String {
        switch self {
        case .files: "file"
        case .apns: "apns"
        }
    }

    /// A fingerprint of its settings.
    var settings: String {
        switch self {
        case .files: ""
        case .apns(let provider): provider.settings.fingerprint
        }
    }

    /// Why no push can be sent now; `nil` if pushes can.
    var trouble: String? {
        switch self {
        case .files: nil
        case .apns(let provider): provider.trouble?.reason
        }
    }

    /// Says for an operator that there is no connection, where and why.
    func noConnection(_ reason: String) -> String {
        switch self {
        case .files: reason
        case .apns(let provider): provider.settings.noConnection(reason)
        }
    }

    /// Whether a push goes to the installation's own environment. Only an answer from there can end trouble.
    func isOwn(_ push: Push) -> Bool {
        switch self {
        case .files: true
        case .apns(let provider): provider.isOwn(push)
        }
    }

    /// The environment in which a push's device is looked for first; `nil` if pushes become files.
    func environment(of push: Push) -> APNsEnvironment? {
        switch self {
        case .files: nil
        case .apns(let provider): push.delivery.environment ?? provider.settings.environment
        }
    }

    /// Sends pushes and takes in verdicts.
    ///
    /// - Parameters:
    ///   - pause: the longest wait if there is nothing else to do.
    ///   - beforeSending: called after pushes were handed out and before they are sent. If it throws, they are
    ///     not sent and come back.
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

    /// Gives back the pushes that are not sent yet.
    func giveBackUnsent() {
        if case .apns(let provider) = self { provider.giveBackUnsent() }
    }

    func close() {
        if case .apns(let provider) = self { provider.close() }
    }
}
