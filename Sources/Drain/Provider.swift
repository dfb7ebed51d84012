import Turnstone

/// Where pushes go: to a push service, or to files.
///
/// `deliver` links those that speak HTTP/2 on a connection of their own, `deliver-web` the one that needs
/// libcurl.
package protocol Provider: AnyObject {
    /// The name under which its stops are recorded.
    var name: String { get }

    /// A fingerprint of its settings.
    var settings: String { get }

    /// Its name for operators, and the prefix of the variables that configure it: `APNs` and `APNS_`.
    var title: (service: String, variables: String) { get }

    /// Why no push can be sent now; `nil` if pushes can.
    var trouble: ProviderTrouble? { get }

    /// Whether a push goes to the installation's own environment. Only an answer from there can end trouble.
    func isOwn(_ push: Push) -> Bool

    /// The environment in which a push's device is looked for first; production if the push service has no
    /// others, and `nil` if pushes become files.
    func environment(of push: Push) -> APNsEnvironment?

    /// Sends pushes and takes in verdicts.
    ///
    /// - Parameters:
    ///   - pause: the longest wait if there is nothing else to do.
    ///   - beforeSending: called after pushes were handed out and before they are sent. If it throws, they
    ///     are not sent and come back.
    func step(
        pause: Interval, at now: Timestamp, next: () -> Push?,
        beforeSending: () throws(Failure) -> Void, verdict: (Push, Verdict) -> Void
    ) throws(Failure)

    /// Gives back the pushes that are not sent yet.
    func giveBackUnsent()

    func close()
}

/// Why a provider can send nothing now.
package struct ProviderTrouble {
    /// The reason that `health` shows, such as `ExpiredProviderToken`.
    let reason: String
    /// The same for the log, with what an operator can do.
    let sentence: String
    /// How long nothing needs to be tried; `nil` if the next run may try again.
    let pause: Interval?

    package init(_ reason: String, sentence: String, pause: Interval? = nil) {
        self.reason = reason
        self.sentence = sentence
        self.pause = pause
    }
}

extension Provider {
    package func isOwn(_ push: Push) -> Bool { true }

    package func environment(of push: Push) -> APNsEnvironment? { .production }
}
