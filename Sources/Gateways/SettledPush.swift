/// A push with its verdict. It is `public` for the reason that ``PendingPushes`` gives.
public struct SettledPush<Verdict> {
    /// The object that the push was submitted with.
    public let push: AnyObject
    public let verdict: Verdict

    @inlinable public init(push: AnyObject, verdict: Verdict) {
        self.push = push
        self.verdict = verdict
    }
}
