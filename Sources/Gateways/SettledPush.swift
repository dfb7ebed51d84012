/// A push with its verdict.
package struct SettledPush<Verdict> {
    /// The object that the push was submitted with.
    package let push: AnyObject
    package let verdict: Verdict

    @inlinable package init(push: AnyObject, verdict: Verdict) {
        self.push = push
        self.verdict = verdict
    }
}
