import Turnstone

/// Access to the record that all processes share. Each call takes the record's lock for a moment.
package struct AccessTokenStore {
    /// Reads the record, applies the change to it, and stores it.
    package typealias Update = (
        _ change: (inout AccessTokenRecord, _ now: Timestamp) -> AccessTokenRecord.Decision?
    ) throws(Failure) -> AccessTokenRecord.Decision?

    let update: Update
    /// The wall clock.
    let now: () -> Timestamp

    package init(now: @escaping () -> Timestamp, update: @escaping Update) {
        self.now = now
        self.update = update
    }
}
