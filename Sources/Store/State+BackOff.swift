import Documents
import Turnstone

extension State {
    private var ogs: StoredDocument<Opaque> { sharedDocuments[DocumentName(single: "ogs")] }

    /// The pause in which OGS is not asked; `nil` since it last answered sensibly.
    package func backOff() throws(Failure) -> BackOff? {
        try ogs.read().flatMap { BackOff($0.content) }
    }

    package func setBackOff(_ backOff: BackOff?) throws(Failure) {
        try ogs.update { document in
            document.content["until"] = backOff?.members["until"]
            document.content["step"] = backOff?.members["step"]
            document.content["since"] = backOff?.members["since"]
            document.content["reason"] = backOff?.members["reason"]
        }
    }

    /// `OGS_REQUESTS_PER_SECOND`: the limit for requests to OGS, for the whole installation.
    package func requestsPerSecond(_ variables: Variables) throws(Failure) -> Int {
        try variables.number("OGS_REQUESTS_PER_SECOND", standard: 2, in: 1...1_000_000)
    }

    /// `CHECK_INTERVAL_SECONDS`: the distance between a player's slots.
    package func checkInterval(_ variables: Variables) throws(Failure) -> Int {
        try variables.number("CHECK_INTERVAL_SECONDS", standard: 30, in: 1...86_400)
    }
}
