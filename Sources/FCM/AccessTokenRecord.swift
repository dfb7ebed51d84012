import PushServices
import Turnstone
import Unix

/// The document that all processes share: the access token, who is fetching the next one, and the failures
/// to fetch one.
///
/// No lock is held while a token is fetched. Instead, a process writes a claim with a deadline, and the
/// others leave the fetch to it until then, or until they see that it was killed.
package struct AccessTokenRecord: Equatable, Sendable {
    package var token: AccessToken?
    var claim: FetchClaim?
    var failure: FailedFetch?

    struct FetchClaim: Equatable, Sendable {
        let holder: Holder
        let until: Timestamp
    }

    /// A process that fetches a token.
    package struct Holder: Equatable, Sendable {
        /// A random name: a machine may give a process's id to another one.
        let name: String
        let address: ProcessAddress
    }

    /// The failures since the last successful fetch.
    struct FailedFetch: Equatable, Sendable {
        let reason: String
        /// No process fetches before this moment.
        let until: Timestamp
        /// When the last fetch failed. Earlier versions did not write it.
        let since: Timestamp?
        let count: Int64

        /// Whether no process fetches now. A fetch that failed in the future did so by a clock that was
        /// ahead.
        func holds(at now: Timestamp) -> Bool {
            now < until && until <= now + Self.longestPause && since ?? now <= now + .minutes(1)
        }
    }

    /// Longer than a fetch can take: ``TokenFetch/limit``.
    static let claimLife = Interval.seconds(20)
    /// A token that replaced a refused one is not replaced again before this age, refused or not.
    static let replacementLife = Interval.minutes(5)

    package init() {}

    /// A process's next step for a token.
    package enum Decision: Equatable, Sendable {
        /// Use this token, and ask again after the pause.
        case use(AccessToken, Interval)
        /// Fetch a token, and use this one in the meantime.
        case fetch(AccessToken?)
        /// Another process fetches a token: ask again soon, and use this one in the meantime.
        case wait(AccessToken?)
        /// No token is available before the pause is over.
        case fail(reason: String, Interval)
    }

    /// Decides what to do, and claims the fetch if it is this process's to do.
    ///
    /// - Parameters:
    ///   - rejected: the text of a token that FCM refused, if any.
    ///   - holder: this process.
    package mutating func decide(
        rejected: String?, holder: Holder, now: Timestamp
    ) -> Decision {
        if let rejected, token?.text == rejected { token?.isRefused = true }
        let usable = token.flatMap { $0.isValid(at: now) && !$0.isRefused ? $0 : nil }
        if let usable, now < usable.renewal {
            return .use(usable, min(usable.renewal - now, .minutes(1)))
        }
        if let token, token.isRefused, token.isReplacement {
            let end = token.fetched + Self.replacementLife
            // A moment further ahead comes from a clock that was ahead.
            if now < end, token.fetched <= now + .minutes(1) {
                return .fail(reason: FCMSettings.refusedToken, end - now)
            }
        }
        if let failure, failure.holds(at: now) {
            guard let usable else { return .fail(reason: failure.reason, failure.until - now) }
            return .use(usable, min(failure.until - now, .minutes(1)))
        }
        if let claim, claim.holder != holder, now < claim.until,
            claim.until <= now + Self.claimLife, !claim.holder.address.isGone
        {
            return .wait(usable)
        }
        claim = FetchClaim(holder: holder, until: now + Self.claimLife)
        return .fetch(usable)
    }

    /// Records a fetched token.
    mutating func succeed(_ grant: TokenGrant, now: Timestamp) {
        token = AccessToken(
            text: grant.text, fetched: now, expires: now + grant.life,
            isReplacement: token?.isRefused == true)
        claim = nil
        failure = nil
    }

    /// Records a failed fetch, unless another process has claimed the fetch since.
    mutating func fail(_ failed: TokenFailure, holder: Holder, now: Timestamp) {
        guard claim?.holder == holder else { return }
        claim = nil
        let count = (failure?.count ?? 0).saturatingAdd(1)
        let pause = FailedFetch.pause(after: failed, count: count)
        failure = FailedFetch(
            reason: failed.reason, until: now + pause, since: now, count: count)
    }
}

extension AccessTokenRecord.FailedFetch {
    static let longestPause = Interval.hours(1)

    /// The pause that Google asked for, from a second to an hour. Otherwise it doubles with each failure:
    /// from half a minute to 10 minutes if an operator has to act, else from a second to a minute.
    static func pause(after failed: TokenFailure, count: Int64) -> Interval {
        if let asked = failed.pause { return min(max(asked, .seconds(1)), longestPause) }
        let (first, last): (Int64, Int64) = failed.isLasting ? (30_000, 600_000) : (1000, 60_000)
        return .milliseconds(min(last, first << min(max(count - 1, 0), 10)))
    }
}

extension AccessTokenRecord {
    /// Reads a document's members. Members that cannot be read count as absent.
    package init(_ members: JSONObject) {
        token = members["token"]?.object.flatMap { AccessToken($0) }
        if let claim = members["claim"]?.object, let name = claim["holder"]?.string,
            let until = claim["until"]?.timestamp
        {
            let address = ProcessAddress(host: claim["host"]?.string, id: claim["pid"]?.integer)
            self.claim = FetchClaim(holder: Holder(name: name, address: address), until: until)
        }
        if let failure = members["failure"]?.object, let until = failure["until"]?.timestamp {
            self.failure = FailedFetch(
                reason: failure["reason"]?.string ?? "unknown", until: until,
                since: failure["since"]?.timestamp, count: failure["count"]?.count ?? 1)
        }
    }

    /// Writes the record into a document's members and keeps the others. Moments are in milliseconds since
    /// 1970.
    package func write(to members: inout JSONObject) {
        members["token"] = token.map { .object($0.members) }
        members["claim"] = claim.map {
            var claim: JSONObject = [
                "holder": .string($0.holder.name), "until": JSONValue($0.until),
            ]
            claim["host"] = $0.holder.address.host.map { .string($0) }
            claim["pid"] = $0.holder.address.id.map { .integer($0) }
            return .object(claim)
        }
        members["failure"] = failure.map {
            var failure: JSONObject = [
                "reason": .string($0.reason), "until": JSONValue($0.until),
                "count": .integer($0.count),
            ]
            failure["since"] = $0.since.map { JSONValue($0) }
            return .object(failure)
        }
    }
}
