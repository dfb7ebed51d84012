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
}
