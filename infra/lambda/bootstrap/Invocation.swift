import Turnstone
import Unix

/// An event that the function is to answer.
struct Invocation {
    /// As it is put into a path: letters, digits and dashes.
    let id: String
    let event: [UInt8]
    /// When the platform ends the function.
    private let deadline: Timestamp

    /// Reads the Runtime API's answer to "next".
    init(_ answer: HTTPAnswer) throws(Failure) {
        guard answer.status == 200 else {
            throw .runtime("it answers \(answer.status) where an event is due")
        }
        let id = answer.header("lambda-runtime-aws-request-id") ?? ""
        guard (1...128).contains(id.utf8.count), id.utf8.allSatisfy(isOfID) else {
            throw .runtime("an event has no request id")
        }
        guard let text = answer.header("lambda-runtime-deadline-ms"),
            let deadline = Int64(text), deadline > 0
        else { throw .runtime("an event has no deadline") }
        self.id = id
        self.deadline = Timestamp(milliseconds: deadline)
        event = answer.body
    }

    /// Milliseconds until the deadline, by the system's clock, which is also the platform's.
    var left: Int64 { deadline.milliseconds - Timestamp.systemNow.milliseconds }
}

private func isOfID(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
        UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "-"):
        true
    default: false
    }
}
