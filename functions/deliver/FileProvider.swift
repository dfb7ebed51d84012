import APNs
import JSON
import Spool
import Store
import Turnstone
import Unix

/// Writes each push to `outgoing/` in the state folder and prints it, so that everything can be seen to
/// work without an Apple account.
struct FileProvider {
    private let folder: String

    init(state: State) {
        folder = "\(state.folder)/outgoing"
    }

    func step(
        milliseconds: Int64, next: () -> Push?, beforeSending: () throws(Failure) -> Void,
        verdict: (Push, Verdict) -> Void
    ) throws(Failure) {
        var isIdle = true
        while let push = next() {
            isIdle = false
            do throws(Failure) {
                try beforeSending()
                try write(push)
            } catch {
                verdict(push, .notSent)
                throw error
            }
            verdict(push, .written)
        }
        if isIdle { MonotonicClock.sleep(milliseconds: milliseconds) }
    }

    private func write(_ push: Push) throws(Failure) {
        let text = JSON.text(document(push)) + [UInt8(ascii: "\n")]
        try systemCalls { () throws(SystemError) in
            try Files.makeFolder(folder)
            try Files.replace("\(folder)/\(push.id).json", with: text)
        }
        StandardStreams.writeOutput(text)
    }

    /// What would have been sent: the header fields by their names, and the payload.
    private func document(_ push: Push) -> JSONValue {
        let notification = push.job.notification
        let content = notification.push
        var document: JSONObject = [
            "device": .string(push.delivery.token.hex), "apns-id": .string(push.id),
            "apns-push-type": .string(content.type),
            "apns-priority": .integer(Int64(content.priority)),
            "apns-expiration": .integer(notification.expires.seconds),
        ]
        document["apns-collapse-id"] = content.collapseID.map { .string($0) }
        document["payload"] = push.payload
        return .object(document)
    }
}
