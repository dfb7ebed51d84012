import Crypto
import Documents
import Turnstone
import Unix

// Limits how many requests a caller may make. For each caller there is the moment at which all requests so
// far would be over if they had come at the allowed pace (GCRA, as in ATM and many rate limiters). That one
// number says both how many requests there were and when. All numbers are in one file of 80 KB. A random salt
// at its end decides which callers share places, so that nobody can choose a name that shares them with
// somebody.

extension State {
    private static let slots = 1 << 12
    /// Digits in microseconds since 1970, so that a person can read the file.
    private static let width = 20
    private static let saltLength = 32
    /// A burst may have as many requests as are allowed in this time.
    static let burst = Interval.minutes(1)

    /// `CALLER_REQUESTS_PER_MINUTE`; 0 if requests are not counted.
    package func callerRequestsPerMinute() throws(Failure) -> Int {
        try variables.number("CALLER_REQUESTS_PER_MINUTE", standard: 600, in: 0...60_000_000)
    }

    /// `NEW_TOKENS_PER_HOUR`; 0 if registrations are not counted.
    package func newTokensPerHour() throws(Failure) -> Int {
        try variables.number("NEW_TOKENS_PER_HOUR", standard: 600, in: 0...1_000_000)
    }

    /// The state for a user's request, which is counted.
    @export(interface)
    package init(_ variables: Variables, admitting caller: UserID) throws(Failure) {
        try self.init(variables)
        try admit(caller)
    }

    /// Counts a caller's request, and refuses it if there were too many.
    ///
    /// A caller has two places, chosen by a hash, and is refused only if both are full: sharing one place
    /// with another caller does no harm.
    ///
    /// - Throws: too many if the caller made more than `CALLER_REQUESTS_PER_MINUTE` requests. The request
    ///   passes if the file cannot be used, which `health` reports, or is locked for half a second.
    @export(interface)
    package func admit(_ caller: UserID) throws(Failure) {
        let perMinute = try callerRequestsPerMinute()
        guard perMinute > 0 else { return }
        try admit(
            caller.text, distance: 60_000_000 / Int64(perMinute),
            else: "too many requests by this caller")
    }

    /// Counts a test push that a user asks for, and refuses it if there were too many: six at once, and one
    /// more in each ten seconds.
    @export(interface)
    package func admitTest(by user: UserID) throws(Failure) {
        // No user's id has a NUL.
        try admit(
            "test\u{0}\(user.text)", distance: 10_000_000, else: "too many test notifications")
    }

    /// Counts a key that replaces another one, and refuses it if there were too many: twenty at once, and one
    /// more in three minutes. The document of the old key stays for 30 days.
    @export(interface)
    package func admitRotation(by user: UserID) throws(Failure) {
        try admit(
            "rotation\u{0}\(user.text)", in: "registrations.limit", distance: 180_000_000,
            burst: .hours(1), else: "too many new API keys")
    }

    /// Counts a registration that makes new documents, and refuses it if the user made too many: each of them
    /// stays on the disk until a later cycle's clean-up.
    ///
    /// A backend's registrations, by OneSignal's routes, are not counted: it has the server key.
    ///
    /// - Throws: too many if the user has made more than `NEW_TOKENS_PER_HOUR` registrations with a token, Live
    ///   Activity or session that nobody had registered; a conflict, without counting it, if it would be
    ///   refused in any case. The request passes if the file cannot be used.
    @export(interface)
    package func admit(
        _ registration: Registration, by user: UserID, at time: Timestamp
    ) throws(Failure) {
        let perHour = try newTokensPerHour()
        guard perHour > 0, try isNew(registration) else { return }
        try registry.check(registration, for: user, at: time)
        try admit(
            user.text, in: "registrations.limit", distance: 3_600_000_000 / Int64(perHour),
            burst: .hours(1), else: "too many new devices and Live Activities of this user")
    }

    /// Counts something, and refuses it if there was too much. It passes if the file cannot be used.
    ///
    /// - Parameters: as for ``count(_:in:distance:burst:)``.
    private func admit(
        _ name: String, in file: String = "requests.limit", distance: Int64,
        burst: Interval = State.burst, else sentence: StaticString
    ) throws(Failure) {
        var pause: Interval?
        do throws(SystemError) {
            pause = try count(name, in: file, distance: distance, burst: burst)
        } catch { UnusableFiles.record("\(folder)/\(file)", error.errno.name) }
        guard let pause else { return }
        throw .refused(
            .tooMany(seconds: Int(pause.seconds)), "\(sentence); try again in \(pause.seconds) s")
    }

    private func isNew(_ registration: Registration) throws(Failure) -> Bool {
        for key in IndexKey.all(registration.token, registration.kind) {
            let path = key.document(in: self).path
            if try systemCalls({ () throws(SystemError) in try !Files.exists(path) }) {
                return true
            }
        }
        return false
    }

    /// Counts a request.
    ///
    /// - Parameters:
    ///   - name: whose requests are counted together.
    ///   - file: where.
    ///   - distance: microseconds between two requests at the allowed pace.
    ///   - burst: as many requests as are allowed in this time may come at once.
    /// - Returns: `nil`, or in how many whole seconds the next request is allowed.
    func count(
        _ name: String, in file: String = "requests.limit", distance: Int64,
        burst: Interval = State.burst
    ) throws(SystemError) -> Interval? {
        let file = try FileDescriptor.open("\(folder)/\(file)", .update)
        guard try file.lock(patience: .milliseconds(500)) else { return nil }
        defer { file.unlock() }
        guard let salt = try salt(in: file) else { return nil }
        let digest = SHA256.hash(salt + Array(name.utf8))
        // The system's clock even if `TURNSTONE_NOW` stops ours, because real requests are counted.
        let present = Timestamp.systemNow.milliseconds.saturatingMultiply(1000)
        let limit = burst.milliseconds * 1000
        var pause = Interval.seconds(.max)
        for part in 0..<2 {
            let number = digest[(part * 3)..<(part * 3 + 3)].reduce(0) { $0 << 8 | Int($1) }
            let place = number % Self.slots * Self.width
            let text = String(decoding: try file.read(upTo: Self.width, at: place), as: UTF8.self)
            var over = max(Int64(text) ?? 0, present)
            // A value beyond a full place means that the clock was set back.
            if over - present > limit + distance { over = present }
            let wait = over - present + distance - limit
            pause = min(pause, .seconds(wait > 0 ? (wait + 999_999) / 1_000_000 : 0))
            guard wait <= 0 else { continue }
            let digits = Array(String(over + distance).utf8)
            try file.write(
                [UInt8](repeating: UInt8(ascii: "0"), count: Self.width - digits.count) + digits,
                at: place)
        }
        return pause > .seconds(0) ? pause : nil
    }

    /// 32 hex digits after the places, made by the first process that counts; `nil` if there are no random
    /// numbers.
    private func salt(in file: FileDescriptor) throws(SystemError) -> [UInt8]? {
        let known = try file.read(upTo: Self.saltLength, at: Self.slots * Self.width)
        if known.count == Self.saltLength { return known }
        var salt: [UInt8] = []
        do throws(Failure) { salt = Array(hex(try randomBytes(Self.saltLength / 2)).utf8) } catch {
            return nil
        }
        try file.write(salt, at: Self.slots * Self.width)
        return salt
    }
}
