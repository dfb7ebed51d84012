import Foundation

/// How long a request may be repeated after 429 and 503.
///
/// A request whose answer was lost is never repeated: it may have been done. Nor is one that changes something,
/// if the 429 or 503 is not the installation's own: JSON with `error`. (A proxy that answers so is taken for the
/// installation.)
///
/// A 503 may mean that a part was done. A repetition completes it, and a removal that finds nothing then counts as
/// done. These are not repeated after a 503, because they would be done twice, or fail because they were done:
/// - ``ServerClient/makeChannel(keepsNewest:in:)`` and ``PlayerClient/rotateKey()``;
/// - changes since a profile that was read, and preferences with a ``NotificationPreferences/tag``;
/// - profiles with `session`, also those of registrations;
/// - ``ServerClient/updateActivity(_:state:others:)`` without `timestamp`, or with `alert`.
public struct Patience: Sendable {
    /// How often a request is sent at most: 1 and less mean no repetitions.
    public var attempts: Int
    /// The longest pause before a repetition. If `Retry-After` asks for more, the error is thrown at once.
    public var longestPause: Duration
    /// Waits. Tests replace it.
    public var sleep: @Sendable (Duration) async throws -> Void

    public init(
        attempts: Int = 3, longestPause: Duration = .seconds(30),
        sleep: @escaping @Sendable (Duration) async throws -> Void = {
            try await Task.sleep(for: $0)
        }
    ) {
        self.attempts = attempts
        self.longestPause = longestPause
        self.sleep = sleep
    }

    /// No repetitions.
    public static let none = Patience(attempts: 1)

    /// The pause that `Retry-After` asks for (RFC 9110 section 10.2.3): seconds, or a moment; at most a year.
    /// Nil where it says nothing usable.
    static func pause(_ field: String?, now: Date = Date()) -> Duration? {
        guard let field = field?.trimmingCharacters(in: .whitespaces), !field.isEmpty else {
            return nil
        }
        if field.utf8.allSatisfy({ (48...57).contains($0) }) {
            // A number that is too large for us is at least a long time.
            return .seconds(min(Int64(field) ?? .max, 31_536_000))
        }
        let format = DateFormatter()
        format.locale = Locale(identifier: "en_US_POSIX")
        format.timeZone = TimeZone(identifier: "GMT")
        // The first one is sent today; a recipient has to know the others (RFC 9110 section 5.6.7).
        let forms = [
            "EEE, dd MMM yyyy HH:mm:ss zzz", "EEEE, dd-MMM-yy HH:mm:ss zzz",
            "EEE MMM d HH:mm:ss yyyy",
        ]
        let text = field.split(separator: " ").joined(separator: " ")
        let date = forms.lazy.compactMap { form in
            format.dateFormat = form
            return format.date(from: text)
        }.first
        return date.map {
            .seconds(Int64(min(max(0, $0.timeIntervalSince(now).rounded(.up)), 31_536_000)))
        }
    }
}
